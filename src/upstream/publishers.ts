import { isUtf8 } from 'node:buffer'
import { isJsonObject, type JsonValue, parseJson } from '../domain/json.ts'
import { nestingDepth } from '../domain/json-walk.ts'
import { SourceError } from '../domain/source-error.ts'
import type { Get } from './get.ts'

/** Most publishers that one request asks for (`protocol.md` 1.10). */
export const PUBLISHERS_PAGE = 200
export const MAX_PUBLISHERS_BYTES = 1024 * 1024
const MAX_DEPTH = 16

/** Who signs for a `publisher_id`; `null` where that is no address. */
export type PublisherAddress = { id: number; address: string | null }

export type PublisherPage = {
  publishers: PublisherAddress[]
  /** Entries in the answer, good or bad. */
  received: number
}

/** Asks one upstream for its publishers `[offset, offset + 200)`, newest first. Throws a `SourceError`. */
export type FetchPublishers = (offset: number) => Promise<PublisherPage>

/** `GET {url}/publishers` (`protocol.md` 1.10). */
export const fetchPublishers =
  (get: Get): FetchPublishers =>
  async (offset) => {
    const path = `/publishers?limit=${PUBLISHERS_PAGE}&offset=${offset}`
    const { body } = await get(path, { limit: MAX_PUBLISHERS_BYTES })
    return readPublishers(body ?? Buffer.alloc(0))
  }

const readPublishers = (body: Buffer): PublisherPage => {
  const items = itemsOf(body)
  if (items === null) throw new SourceError('bad_envelope', 'the answer is no list of publishers')
  return { publishers: items.slice(0, PUBLISHERS_PAGE).flatMap(readPublisher), received: items.length }
}

const itemsOf = (body: Buffer): JsonValue[] | null => {
  if (!isUtf8(body) || nestingDepth(body) > MAX_DEPTH) return null
  try {
    const value = parseJson(body.toString())
    return isJsonObject(value) && Array.isArray(value.items) ? value.items : null
  } catch {
    return null
  }
}

const readPublisher = (entry: JsonValue): PublisherAddress[] => {
  if (!isJsonObject(entry) || typeof entry.publisher_id !== 'number') return []
  return [{ id: entry.publisher_id, address: readAddress(entry.identities) }]
}

/** The first `eip191` identity is the one whose signature counts (`protocol.md` 1.4). */
const readAddress = (identities: JsonValue | undefined): string | null => {
  const list = Array.isArray(identities) ? identities.filter(isJsonObject) : []
  const identifier = list.find(({ scheme }) => scheme === 'eip191')?.identifier
  return typeof identifier === 'string' ? asAddress(identifier) : null
}

/** Lower-cased; `null` for what is no address. */
export const asAddress = (text: string): string | null =>
  /^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : null
