import { isUtf8 } from 'node:buffer'
import { readFileSync, statSync } from 'node:fs'
import type { Document, Node, Scalar } from 'yaml'
import { hasIdLength, isListingStatus, LISTING_STATUSES, MAX_LISTING_ID_LENGTH } from '../domain/listing.ts'
import { suggestName } from '../domain/nearest-name.ts'
import type { TokenTable } from '../domain/price/token.ts'
import { objectMembers } from '../json/members.ts'
import { JsonScanner } from '../json/scanner.ts'
import { at, isJsonObject, type JsonObject, type JsonValue, parseJson, rawJSON } from '../json/value.ts'
import { CliError, describeFileError, EXIT, usageError } from './exit-codes.ts'
import { pricedEscrows } from './listing-price.ts'
import type { Terminal } from './output/terminal.ts'

const MAX_LISTING_FILE_BYTES = 32 * 1024 * 1024

export type DraftListing = {
  listingId: string
  storefrontUrl: string | null
  /** Name → JSON text. */
  members: ReadonlyMap<string, string>
  /** Names of members that Registries do not know. */
  ignored: readonly string[]
  /** `file:line` of the first such text from the listing on, in any case; else of its beginning. */
  placeOf: (text: string) => string
}

/** The members that are published, as one JSON object. */
export const draftJson = ({ members }: Pick<DraftListing, 'members'>): string =>
  `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`

/** The ids of those that are not to be open. */
export const hiddenIn = (drafts: readonly DraftListing[]): ReadonlySet<string> =>
  new Set(
    drafts
      .filter(({ members }) => !['"open"', 'null', undefined].includes(members.get('status')))
      .map(({ listingId }) => listingId),
  )

/** As a listing file has it: only what can be published. */
export function exportListing(bytes: Buffer): string {
  const published = objectMembers(bytes).filter(({ name }) => PUBLISHED.has(name))
  const members = published.map(
    ({ name, value: { start, end } }) => [name, bytes.toString('utf8', start, end)] as const,
  )
  return draftJson({ members: new Map(members) })
}

export const PUBLISHED = new Set([
  'listing_id',
  'storefront_url',
  'offer_resource',
  'accepted_escrows',
  'demands',
  'settlement_options',
  'max_duration_seconds',
  'oracle_address',
  'status',
])
/** Ignored without a warning, so that a listing that was read can be published again. */
const READ_ONLY = new Set([
  'publisher_id',
  'publisher_principals',
  'created_at',
  'updated_at',
  '_meta',
  'identifier',
  'scheme',
  'signature',
  'timestamp',
])

/**
 * Reads one listing or several, as a JSON array, NDJSON or YAML. Numbers keep their digits; a `price` becomes the value of an escrow.
 * @throws CliError 65, with the place, for anything that cannot be published unchanged
 */
export async function readListingFile(
  terminal: Terminal,
  file: string,
  tokens: TokenTable,
): Promise<DraftListing[]> {
  const name = file === '-' ? 'stdin' : file
  const text = decode(file === '-' ? await readStdin(terminal.stdin) : readFileBytes(file), name)
  const isYaml = /\.ya?ml$/i.test(file) || !/^\s*[[{]/.test(text)
  const listings = isYaml
    ? await readYaml(text, name)
    : holdsLines(text)
      ? splitLines(text, name)
      : splitListings(text, name)
  const lines = text.toLowerCase().split('\n')
  const drafts = listings.map(({ bytes, line }, n) => {
    const placeOf = (wanted: string): string => {
      const found = lines.findIndex((one, at) => at >= line && holdsText(one, wanted.toLowerCase()))
      return `${name}:${(found < 0 ? line : found) + 1}`
    }
    return readDraft(bytes, `${name}[${n}]`, { placeOf, tokens })
  })
  const ids = new Set<string>()
  for (const { listingId } of drafts) {
    if (ids.has(listingId)) throw badData(`${name} has the listing_id ${listingId} twice: remove one`)
    ids.add(listingId)
  }
  return drafts
}

/** Whether a line has the text, and not as a part of a longer word or number. */
const holdsText = (line: string, text: string): boolean =>
  line
    .split(text)
    .some(
      (before, n, parts) =>
        n + 1 < parts.length && !/[\p{L}\d]$/u.test(before) && !/^[\p{L}\d]/u.test(parts[n + 1]!),
    )

function badData(message: string): CliError {
  return new CliError(EXIT.badData, message)
}

/** @throws CliError for a file that is missing or too large */
export const readTextFile = (file: string): string => decode(readFileBytes(file), file)

function readFileBytes(file: string): Buffer {
  try {
    if (statSync(file).size > MAX_LISTING_FILE_BYTES) throw tooLarge(file)
    return readFileSync(file)
  } catch (cause) {
    if (cause instanceof CliError) throw cause
    throw usageError(`cannot read ${file}: ${describeFileError(cause)}`)
  }
}

async function readStdin(stdin: NodeJS.ReadStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_LISTING_FILE_BYTES) throw tooLarge('stdin')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(file: string): CliError {
  return badData(`${file} is larger than ${MAX_LISTING_FILE_BYTES} bytes: split it`)
}

/** Drops a byte order mark. */
function decode(bytes: Buffer, name: string): string {
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes)
  const lines = bytes.toString('latin1').split('\n')
  const bad = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')))
  throw badData(`${name}:${bad + 1}: not UTF-8; convert the file to UTF-8`)
}

/** One of a file, and the line where it begins, from 0. */
type FoundListing = { bytes: Buffer; line: number }

async function readYaml(text: string, name: string): Promise<FoundListing[]> {
  const { isSeq, LineCounter, parseDocument, visit } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { intAsBigInt: true, lineCounter, prettyErrors: false })
  const refuse = (offset: number, message: string): never => {
    throw badData(`${name}:${lineCounter.linePos(offset).line}: ${message}`)
  }
  // A warning is an unknown tag, whose value would be published as something else.
  for (const { code, pos, message } of [...document.errors, ...document.warnings])
    refuse(pos[0], YAML_PROBLEMS[code] ?? message)
  visit(document, {
    Scalar: (key, node) => {
      const { source = '', type, value, range } = node
      if (key === 'key') {
        if (type === 'PLAIN') node.value = source
        return
      }
      if (isChanged(node))
        refuse(
          range?.[0] ?? 0,
          `${source} is read as ${describeValue(value)}: quote it, or write a number as JSON has it`,
        )
      if (isNumber(value)) node.value = rawJSON(source)
    },
  })
  const { contents } = document
  const nodes = (isSeq(contents) ? contents.items : [contents]) as (Node | null)[]
  const lines = nodes.map((node) => lineCounter.linePos(node?.range?.[0] ?? 0).line - 1)
  return splitListings(jsonOf(document, name), name).map(({ bytes }, n) => ({ bytes, line: lines[n] ?? 0 }))
}

/** In place of the parser's own words. */
const YAML_PROBLEMS: { readonly [Code in string]?: string } = {
  MULTIPLE_DOCS: 'a second document begins (---); put all listings into one list',
  BLOCK_AS_IMPLICIT_KEY: 'check the indentation of this line, and quote a value with a colon',
  BAD_INDENT: 'check the indentation of this line',
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/

/** Whether a text would be published as something else: `0x12` as 18, `+49` as 49, `007` as 7. */
function isChanged({ source = '', value }: Scalar): boolean {
  if (typeof value === 'string') return false
  if (isNumber(value)) return !JSON_NUMBER.test(source)
  return value === null ? !/^(?:~|null)?$/i.test(source) : source.toLowerCase() !== String(value)
}

const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint'

const describeValue = (value: unknown): string => (isNumber(value) ? `the number ${value}` : String(value))

function jsonOf(document: Document, name: string): string {
  try {
    return JSON.stringify(document.toJS({ maxAliasCount: 100 })) ?? 'null'
  } catch (cause) {
    throw badData(`${name} is not YAML: ${(cause as Error).message.split('\n')[0]}`)
  }
}

/** Whether it is NDJSON: the first line is a whole value, and not the last one. */
function holdsLines(text: string): boolean {
  const [first = '', ...rest] = text.trimStart().split('\n')
  return rest.some((line) => line.trim() !== '') && isJson(first)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false // an object or array of several lines
  }
}

/** A gateway's stream ends with a line about the others. */
function splitLines(text: string, file: string): FoundListing[] {
  const lines = text
    .split('\n')
    .flatMap((json, line) => (json.trim() === '' ? [] : [{ json, line, place: `${file}:${line + 1}` }]))
  const listings = lines.filter(({ json, place }) => {
    try {
      const value: unknown = JSON.parse(json)
      if (!isJsonObject(value) || Object.keys(value).join() !== '_meta') return true
      if (at(value, '_meta', 'complete') === true) return false
    } catch (cause) {
      throw badData(`${place}: not JSON: ${(cause as Error).message}`)
    }
    throw badData(`${place}: the listings are not complete, as this line says`)
  })
  return listings.map(({ json, line }) => ({ bytes: Buffer.from(json), line }))
}

function splitListings(json: string, file: string): FoundListing[] {
  const bytes = Buffer.from(json)
  try {
    const value: unknown = JSON.parse(json)
    if (value === null) throw badData(`${file} ${NO_LISTING}`)
    if (!Array.isArray(value)) return [{ bytes, line: 0 }]
  } catch (cause) {
    if (cause instanceof CliError) throw cause
    throw badData(`${file} is not JSON: ${(cause as Error).message}`)
  }
  const elements = new JsonScanner(bytes).arrayAt(0)?.elements ?? []
  if (elements.length === 0) throw badData(`${file} ${NO_LISTING}`)
  let line = 0
  let before = 0
  return elements.map(({ start, end }) => {
    for (; before < start; before++) if (bytes[before] === NEWLINE) line++
    return { bytes: bytes.subarray(start, end), line }
  })
}

const NEWLINE = 0x0a
const NO_LISTING = 'contains no listing; entrepot close --all closes all of yours'

type Reading = Pick<DraftListing, 'placeOf'> & { tokens: TokenTable }

function readDraft(bytes: Buffer, place: string, { placeOf, tokens }: Reading): DraftListing {
  const value = parseJson(bytes.toString('utf8'))
  if (!isJsonObject(value)) throw badData(`${place}: a listing must be an object`)
  const listingId = readListingId(value, place)
  const lineOf = (name: string) => `${placeOf(name)}: ${listingId}`
  requireStatus(value.status ?? null, lineOf('status'))
  const storefrontUrl = value.storefront_url ?? null
  if (storefrontUrl !== null && typeof storefrontUrl !== 'string')
    throw badData(`${lineOf('storefront_url')}: storefront_url must be a string`)
  const members = new Map(
    objectMembers(bytes).map(({ name, value: { start, end } }) => [name, bytes.toString('utf8', start, end)]),
  )
  if (members.delete('price')) members.set('accepted_escrows', pricedEscrows(value, tokens, lineOf('price')))
  const ignored = [...members.keys()].filter((name) => !PUBLISHED.has(name) && !READ_ONLY.has(name))
  for (const name of members.keys()) if (!PUBLISHED.has(name)) members.delete(name)
  return { listingId, storefrontUrl, members, ignored, placeOf }
}

function requireStatus(status: JsonValue, place: string): void {
  if (status === null || isListingStatus(status)) return
  const nearest = typeof status === 'string' ? suggestName(status, LISTING_STATUSES) : ''
  throw badData(`${place}: status must be one of ${LISTING_STATUSES.join(', ')}${nearest}`)
}

function readListingId({ listing_id: id }: JsonObject, place: string): string {
  if (typeof id === 'string' && id.length > 0 && hasIdLength(id)) return id
  throw badData(
    `${place}: listing_id must be a string of 1 to ${MAX_LISTING_ID_LENGTH} characters; ` +
      'keep it the same, so that publishing again replaces the listing',
  )
}
