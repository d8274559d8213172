import { isUtf8 } from 'node:buffer'
import { isPseudonym, isRegistryName } from '../../domain/names.ts'
import { type Item, MAX_VIA, type Origin } from '../../domain/source/item.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { type Micros, parseTimestamp } from '../../domain/timestamp.ts'
import { CLOSE_BRACE, COMMA, JsonScanner, OPEN_BRACE, QUOTE, type Slice } from '../../json/scanner.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../json/value.ts'
import { MAX_ALIASES, publisherNamed } from '../../signing/principal.ts'

/** Limits of an envelope, without its items. */
const MAX_MEMBERS = 256
const MAX_ENVELOPE_BYTES = 512 * 1024
/** In each list of names of an item. */
const MAX_NAMES = 100

type Envelope = { members: JsonObject; total: number }

type ReadItems = (scanner: JsonScanner, start: number) => number

/**
 * @param readItems returns the end of the array that begins at `start`
 * @throws SourceError `not_json` | `bad_envelope`
 */
export function parseEnvelope(bytes: Buffer, readItems: ReadItems): Envelope {
  if (!isUtf8(bytes)) throw notJson()
  const { start, end } = findItems(bytes, readItems)
  const members = parseAround(bytes, start, end)
  const { total_after_filter: total } = members
  if (typeof total !== 'number' || !Number.isSafeInteger(total) || total < 0)
    throw badEnvelope('total_after_filter is not a count')
  return { members, total }
}

/** Refuses two `items`: parsers differ about which counts. */
function findItems(bytes: Buffer, readItems: ReadItems): Slice {
  const scanner = new JsonScanner(bytes)
  let items: Slice | null = null
  let at = scanner.skipSpace(0)
  if (at >= scanner.length) throw notJson()
  if (bytes[at] !== OPEN_BRACE)
    throw OTHER_JSON.test(bytes.toString('latin1', at, Math.min(at + 6, scanner.length)))
      ? badEnvelope('it is not an object')
      : notJson()
  at = scanner.skipSpace(at + 1)
  for (let members = 0; bytes[at] === QUOTE && at < scanner.length; members++) {
    if (members === MAX_MEMBERS) throw badEnvelope(`it has more than ${MAX_MEMBERS} members`)
    const nameEnd = scanner.valueEnd(at)
    const start = scanner.skipSpace(scanner.skipSpace(nameEnd) + 1)
    const isArray = isItems(bytes, at, nameEnd)
    if (isArray && items !== null) throw badEnvelope('it has items twice')
    const end = isArray ? readItems(scanner, start) : scanner.valueEnd(start)
    if (isArray) items = { start, end }
    at = scanner.skipSpace(end)
    if (bytes[at] === COMMA) at = scanner.skipSpace(at + 1)
  }
  if (bytes[at] !== CLOSE_BRACE || at >= scanner.length) throw notJson()
  if (items === null) throw badEnvelope('it has no items')
  return items
}

const OTHER_JSON = /^(\[|"|-?\d|null\b|true\b|false\b)/

function isItems(bytes: Buffer, start: number, end: number): boolean {
  const text = bytes.toString('utf8', start, end)
  if (!text.includes('\\')) return text === '"items"'
  try {
    return JSON.parse(text) === 'items'
  } catch {
    return false
  }
}

function parseAround(bytes: Buffer, start: number, end: number): JsonObject {
  if (bytes.length - (end - start) > MAX_ENVELOPE_BYTES)
    throw badEnvelope(`more than ${MAX_ENVELOPE_BYTES} bytes of it are not items`)
  try {
    return JSON.parse(`${bytes.toString('utf8', 0, start)}[]${bytes.toString('utf8', end)}`)
  } catch (cause) {
    throw notJson(cause)
  }
}

export function notJson(cause?: unknown): SourceError {
  return new SourceError('not_json', 'the answer is not JSON', { cause })
}

export function badEnvelope(what: string): SourceError {
  return new SourceError('bad_envelope', `the answer is not a listing envelope: ${what}`)
}

/** Of a gateway's item. */
export type Meta = Pick<Item, 'publisher' | 'aliases'> & { position: Micros | null; origin?: Origin }

/** For plain Registries, whose `_meta` means nothing. */
export const NO_META: Meta = { publisher: null, position: null }

export function readMeta(meta: JsonValue | undefined): Meta {
  if (!isJsonObject(meta) || !isRegistryName(meta.registry)) return NO_META
  const { registry, publisher, also_in: alsoIn, disputed, unchecked, not_in: notIn } = meta
  const { stale, differs, position, via, publisher_aliases: aliases } = meta
  return {
    publisher: typeof publisher === 'string' ? publisherNamed(publisher) : null,
    aliases: Array.isArray(aliases)
      ? aliases.slice(0, MAX_ALIASES).flatMap((one) => (typeof one === 'string' && publisherNamed(one)) || [])
      : undefined,
    position: typeof position === 'string' ? parseTimestamp(position) : null,
    origin: {
      registry,
      alsoIn: namesIn(alsoIn),
      disputed: namesIn(disputed),
      ...(unchecked !== undefined && { unchecked: namesIn(unchecked) }),
      ...(notIn !== undefined && { notIn: namesIn(notIn) }),
      ...(Array.isArray(via) && { via: via.slice(0, MAX_VIA).filter(isPseudonym) }),
      stale: stale === true,
      differs: differs === true,
    },
  }
}

/** Names of sources, without values that cannot be names. */
export function namesIn(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.slice(0, MAX_NAMES).filter(isRegistryName) : NO_NAMES
}

const NO_NAMES: readonly string[] = []
