import { readFileSync, statSync } from 'node:fs'
import { isJsonObject, type JsonObject, parseJson } from '../domain/json.ts'
import { objectMembers } from '../domain/json-members.ts'
import { arrayElements } from '../domain/json-walk.ts'
import { CliError, EXIT, usageError } from './exit.ts'
import { type Terminal, tell } from './terminal.ts'

export const MAX_LISTING_FILE_BYTES = 32 * 1024 * 1024

/** One listing of a seller's file. */
export type DraftListing = {
  listingId: string
  storefrontUrl: string | null
  /** The members that a Registry reads, each with its JSON text as it stands in the file. */
  members: ReadonlyMap<string, string>
}

/** What a publish request may say of a listing (`protocol.md` 1.5). */
const PUBLISHED = new Set([
  'listing_id',
  'storefront_url',
  'offer_resource',
  'accepted_escrows',
  'demands',
  'max_duration_seconds',
  'oracle_address',
  'status',
])
/** What a Registry or this program adds to a listing, so that what was read can be published again. */
const READ_ONLY = new Set([
  'publisher_id',
  'created_at',
  'updated_at',
  '_meta',
  'identifier',
  'scheme',
  'signature',
  'timestamp',
])

const MAX_ID_LENGTH = 200

/**
 * Reads one listing or an array of them, in JSON or YAML; `-` is stdin. Numbers keep their text in JSON.
 * @throws CliError 65 that names the listing and what is wrong with it
 */
export const readListingFile = async (terminal: Terminal, file: string): Promise<DraftListing[]> => {
  const text = await readText(terminal, file)
  const json = isYaml(file, text) ? await yamlToJson(text, file) : text
  const bytes = Buffer.from(json)
  const drafts = splitListings(bytes, json, file).map((part, n) => readDraft(part, `${file}[${n}]`, terminal))
  const ids = new Set(drafts.map(({ listingId }) => listingId))
  if (ids.size < drafts.length) throw badData(`${file} holds a listing_id twice`)
  return drafts
}

const badData = (message: string): CliError => new CliError(EXIT.badData, message)

const readText = async ({ stdin }: Terminal, file: string): Promise<string> => {
  if (file === '-') return readStdin(stdin)
  try {
    if (statSync(file).size > MAX_LISTING_FILE_BYTES) throw tooLarge(file)
    return readFileSync(file, 'utf8')
  } catch (cause) {
    if (cause instanceof CliError) throw cause
    const { code, message } = cause as NodeJS.ErrnoException
    throw usageError(`cannot read ${file}: ${code === 'ENOENT' ? 'no such file' : message}`)
  }
}

const readStdin = async (stdin: NodeJS.ReadStream): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_LISTING_FILE_BYTES) throw tooLarge('stdin')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const tooLarge = (file: string): CliError => badData(`${file} is larger than ${MAX_LISTING_FILE_BYTES} bytes`)

const isYaml = (file: string, text: string): boolean => /\.ya?ml$/i.test(file) || !/^\s*[[{]/.test(text)

const yamlToJson = async (text: string, file: string): Promise<string> => {
  const { parse } = await import('yaml')
  try {
    const json = JSON.stringify(parse(text, { intAsBigInt: true, maxAliasCount: 100 }), (_name, value) =>
      typeof value === 'bigint' ? rawJson(String(value)) : value,
    )
    return json ?? 'null'
  } catch (cause) {
    throw badData(`${file} is not YAML: ${(cause as Error).message.split('\n')[0]}`)
  }
}

/** TypeScript's library does not know it yet (ECMAScript 2026, JSON.parse source text). */
const rawJson = (JSON as typeof JSON & { rawJSON: (text: string) => unknown }).rawJSON

const splitListings = (bytes: Buffer, json: string, file: string): Buffer[] => {
  try {
    const value: unknown = JSON.parse(json)
    if (!Array.isArray(value)) return [bytes]
  } catch (cause) {
    throw badData(`${file} is not JSON: ${(cause as Error).message}`)
  }
  const elements = arrayElements(bytes) ?? []
  if (elements.length === 0) throw badData(`${file} holds no listing`)
  return elements.map(({ start, end }) => bytes.subarray(start, end))
}

const readDraft = (bytes: Buffer, place: string, terminal: Terminal): DraftListing => {
  const value = parseJson(bytes.toString('utf8'))
  if (!isJsonObject(value)) throw badData(`${place}: a listing must be an object`)
  const listingId = readListingId(value, place)
  const storefrontUrl = value.storefront_url ?? null
  if (storefrontUrl !== null && typeof storefrontUrl !== 'string')
    throw badData(`${place} (${listingId}): storefront_url must be a string`)
  const members = new Map(
    objectMembers(bytes).map(({ name, value: { start, end } }) => [name, bytes.toString('utf8', start, end)]),
  )
  for (const name of members.keys()) {
    if (PUBLISHED.has(name)) continue
    members.delete(name)
    if (!READ_ONLY.has(name)) tell(terminal, `${place} (${listingId}): Registries do not read '${name}'`)
  }
  return { listingId, storefrontUrl, members }
}

const readListingId = ({ listing_id: id }: JsonObject, place: string): string => {
  if (typeof id === 'string' && id.length > 0 && id.length <= MAX_ID_LENGTH) return id
  throw badData(
    `${place}: listing_id must be a string of 1 to ${MAX_ID_LENGTH} characters; ` +
      'give each listing one that stays, so that publishing it again replaces it',
  )
}
