import { isUtf8 } from 'node:buffer'
import { EntrepotError } from '../../errors.ts'
import { depthProblem, sizeProblem } from '../../json/limits.ts'
import type { JsonValue } from '../../json/value.ts'
import { decodeJson, objectBody, readJsonBytes } from '../middleware/body.ts'
import type { KoaContext } from '../request-state.ts'

/**
 * The JSON object in the body of a signed write, before anything of it is verified: its bytes are checked in the order of the
 * public implementation.
 * @throws EntrepotError `bad_request` for bytes that are no text or too deep, and for numbers that JSON lacks; `invalid`
 */
export async function readSignedBody(context: KoaContext): Promise<ReturnType<typeof objectBody>> {
  const { headers } = context.req
  // It is not looked at: what is coded is no text.
  delete headers['content-encoding']
  const bytes = await readJsonBytes(context)
  if (bytes === null) return objectBody({ body: null })
  if (!isUtf8(bytes) || depthProblem(bytes) !== null) throw unparsable()
  const problem = sizeProblem(bytes)
  if (problem !== null)
    throw new EntrepotError('invalid', problem, { errors: [{ path: 'body', message: problem }] })
  return objectBody({ body: { bytes, value: decoded(bytes) } })
}

function decoded(bytes: Buffer): JsonValue {
  try {
    return decodeJson(bytes)
  } catch (cause) {
    if (isPythonJson(bytes)) throw notCanonical()
    throw cause
  }
}

const unparsable = (): EntrepotError =>
  new EntrepotError('bad_request', 'There was an error parsing the body')

export const notCanonical = (): EntrepotError =>
  new EntrepotError('bad_request', 'Body is not canonical JSON')

/** The numbers that Python reads, and JSON lacks. */
const NOT_A_NUMBER = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g

function isPythonJson(bytes: Buffer): boolean {
  const text = bytes.toString().replace(NOT_A_NUMBER, (token) => (token.startsWith('"') ? token : '0'))
  try {
    decodeJson(Buffer.from(text))
    return true
  } catch {
    return false
  }
}
