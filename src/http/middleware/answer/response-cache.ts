import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Middleware } from '../../request-state.ts'
import type { HandlerResponse } from '../../route.ts'

type CachedResponse = {
  response: HandlerResponse
  bytes: number
  isCurrent: () => boolean
  /** Ends with the latest request for the outdated response. Never rejects. */
  refresh?: Promise<void>
}

/** Of all responses. */
export const MAX_CACHED_BYTES = 64 * 1024 * 1024
const MAX_BODY_BYTES = 1024 * 1024
/** Beside body and URL. Measured: 1.6 KiB in a Registry, 3.3 KiB in a gateway. */
const OVERHEAD_BYTES = 4096
/** Requests that are remembered as asked, a power of two. */
const ASKED = 16_384

/**
 * Sends a response again while everything that it was made of is unchanged. One request refreshes an outdated response
 * while the others wait for it.
 */
export function cacheResponses(onLookup: (isHit: boolean) => void): Middleware {
  /** By line, URL and what the reader sees. Answers to operators are longer. Callers without a key displace no answer to those with one. */
  const withKey = new Responses()
  const anonymous = new Responses()
  return async ({ req, state }, next) => {
    const { route, caller, reader } = state
    if (route.gate !== 'read' || route.method !== 'GET') return next()
    const cache = isSelective(req) ? null : caller.kind === 'anonymous' ? anonymous : withKey
    const variant = `${caller.kind === 'operator' ? 'operator ' : ''}${state.signed === undefined ? '' : 'signed '}`
    const key = `${reader.digest} ${variant}${req.url!}`
    let cached = cache?.get(key)
    if (cached?.refresh !== undefined && !cached.isCurrent()) {
      await cached.refresh
      cached = cache?.get(key)
    }
    if (cached?.isCurrent()) {
      onLookup(true)
      state.response = cached.response
      return
    }
    onLookup(false)
    const handling: Promise<void> = next().then(() => {
      cache?.store(key, state.response)
    })
    if (cached !== undefined) cached.refresh = handling.catch(() => {})
    await handling
  }
}

class Responses {
  readonly #kept = new LRUCache<string, CachedResponse>({
    // Without `max`, which lru-cache would allocate at once: `OVERHEAD_BYTES` bounds the number of responses.
    maxSize: MAX_CACHED_BYTES / 2,
    sizeCalculation: ({ bytes }, key) => key.length + bytes + OVERHEAD_BYTES,
  })
  /** The hash of the latest key of each place. */
  readonly #asked = new Int32Array(ASKED)

  get(key: string): CachedResponse | undefined {
    return this.#kept.get(key)
  }

  store(key: string, made: HandlerResponse): void {
    const { body, isCurrent, headers: { 'Server-Timing': _, ...headers } = {} } = made
    if (isCurrent === undefined || !(body instanceof Buffer) || body.length > MAX_BODY_BYTES) {
      this.#kept.delete(key)
      return
    }
    // A compressed body is about as long at most, and is added later.
    const bytes = Object.values(headers).reduce((sum, text) => sum + text.length, 2 * body.length)
    if (this.#admits(key, bytes))
      this.#kept.set(key, { response: { ...made, body: detached(body), headers }, bytes, isCurrent })
  }

  /** Without room, only a request that comes again displaces others: one that comes once would be kept for nothing. */
  #admits(key: string, bytes: number): boolean {
    const { calculatedSize, maxSize } = this.#kept
    const hasRoom = calculatedSize + key.length + bytes + OVERHEAD_BYTES <= maxSize
    const hash = hashOf(key)
    const place = hash & (ASKED - 1)
    const isAskedAgain = this.#asked[place] === hash || this.#kept.has(key)
    this.#asked[place] = hash
    return hasRoom || isAskedAgain
  }
}

/** FNV-1a, of 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193)
  return hash
}

/** A small buffer would retain the larger one that it is part of. */
function detached(body: Buffer): Buffer {
  if (body.buffer.byteLength === body.length) return body
  const copy = Buffer.allocUnsafeSlow(body.length)
  body.copy(copy)
  return copy
}

/** Request headers that select among responses to one URL. `If-None-Match` selects what is sent of a response. */
const SELECTING_HEADERS = ['if-match', 'cache-control', 'pragma', 'cdn-loop']
const JSON_RANGES: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*'])

/** Whether a handler could answer the request in another way than one without these headers. */
function isSelective({ headers }: IncomingMessage): boolean {
  const { accept } = headers
  if (SELECTING_HEADERS.some((name) => headers[name] !== undefined)) return true
  return accept?.split(',').some((range) => !JSON_RANGES.has(typeOf(range))) ?? false
}

const typeOf = (range: string): string => range.split(';', 1)[0]!.trim().toLowerCase()
