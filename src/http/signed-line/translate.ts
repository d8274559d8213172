import { Readable } from 'node:stream'
import { activeIdentities, type Publisher } from '../../domain/publisher.ts'
import { at, formatJson, isJsonObject, type JsonObject, parseJson } from '../../json/value.ts'
import { valueHash } from '../../signing/canonical-json.ts'
import type { Middleware } from '../request-state.ts'
import { type HandlerResponse, json } from '../route.ts'
import { type BodyOptions, inSignedLine } from './bodies.ts'

/**
 * Gives the answers to requests of the signed line the members of that line, and the hash that is signed. So the response cache keeps
 * both, and a repeated read is signed and nothing else.
 */
export function translateAnswers(line: BodyOptions | null): Middleware {
  return async ({ state }, next) => {
    await next()
    const { signed, response } = state
    if (line !== null && signed !== undefined)
      state.response = translated(response, signed.request.exchange.operation, line)
  }
}

function translated(response: HandlerResponse, operation: string, line: BodyOptions): HandlerResponse {
  const { body, status = 200, isCurrent } = response
  if (body === undefined) return response
  if (body instanceof Readable) {
    body.destroy()
    return json({ detail: 'Signed answers are JSON' }, 406)
  }
  const value = status === 200 ? parseJson(body.toString()) : null
  if (!isJsonObject(value)) return response
  const { options, validity } = recordUse(line)
  const answer = inSignedLine(operation, value, options)
  const { listing } = answer
  if (listing === null) return json({ detail: 'Listing not found' }, 404)
  // These readers act on a listing without a look at how old its copy is.
  if (at(listing, '_meta', 'stale') === true)
    return json({ detail: 'The Registry of this listing does not answer now' }, 503)
  const translation = { body: Buffer.from(formatJson(answer)), content: hashOrNone(answer) }
  return { ...response, ...translation, isCurrent: isCurrent && both(isCurrent, validity()) }
}

/** Without a hash the answer cannot be signed, which its signer finds. */
function hashOrNone(value: JsonObject): string | undefined {
  try {
    return valueHash(value)
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}

/** Options that record what an answer is made of, and whether the same answer would be made now. */
function recordUse(line: BodyOptions) {
  const publishers = new Map<number, Publisher | null>()
  const options: BodyOptions = {
    ...line,
    publisherWith: (id) => {
      const publisher = line.publisherWith(id)
      publishers.set(id, publisher)
      return publisher
    },
  }
  return { options, validity: () => validityOf(line, publishers) }
}

/** `undefined` for an answer that time changes: while an identity replaces another, both are in it. */
function validityOf(
  line: BodyOptions,
  publishers: ReadonlyMap<number, Publisher | null>,
): (() => boolean) | undefined {
  const now = line.nowSeconds() * MICROS_PER_SECOND
  for (const publisher of publishers.values())
    if (publisher !== null && activeIdentities(publisher, now).length > 1) return undefined
  return () => publishers.entries().every(([id, publisher]) => line.publisherWith(id) === publisher)
}

const MICROS_PER_SECOND = 1_000_000

function both(one: () => boolean, other: (() => boolean) | undefined): (() => boolean) | undefined {
  return other && (() => one() && other())
}
