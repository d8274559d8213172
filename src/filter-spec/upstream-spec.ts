import { isUtf8 } from 'node:buffer'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../domain/json.ts'
import { nestingDepth } from '../domain/json-walk.ts'
import { compileFilter } from './compile-filter.ts'
import type { Filter } from './filter.ts'
import { filterEntry, MAX_FILTERS } from './spec-file.ts'

/** What is known of another Registry's vocabulary. */
export type UpstreamSpec = {
  /** What it calls this very spec, and takes as `If-Match`; `null` where it says nothing that fits a header. */
  etag: string | null
  /** `null` where it declares none. */
  schemaId: string | null
  /** By name. One that cannot be read or evaluated here is not among them: it is not declared as ours is. */
  filters: ReadonlyMap<string, Filter>
  /** Where a gateway has a filter from, in its own names; a filter that is its own is not among them. */
  registries: ReadonlyMap<string, readonly string[]>
}

/** What is known of an upstream's filter spec now. */
export type KnownSpec = {
  /** `null` where nothing is. */
  readonly current: UpstreamSpec | null
  /** Settles when it was asked for the first time. */
  readonly loaded: Promise<unknown>
  /** Asks for it again, since an answer has refuted `doubted`. */
  recheck: (doubted: UpstreamSpec | null) => Promise<UpstreamSpec | null>
}

/** Most `registries` of one filter that are read. */
const MAX_REGISTRIES = 100
const MAX_DEPTH = 64
const MAX_SCHEMA_ID_CHARACTERS = 128
/** As many gateways as a question may pass, so that no filter stays alive by going in circles. */
const REGISTRY_NAME = /^[a-z0-9-]{1,64}(?:\/[a-z0-9-]{1,64}){0,2}$/
const ETAG = /^[\x21\x23-\x7e]{1,128}$/
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g

/**
 * Reads an upstream's answer to `GET /filter-spec`. What is wrong with one filter spoils only that filter.
 * @throws SyntaxError for an answer that is no filter spec
 */
export const readUpstreamSpec = (body: Buffer): UpstreamSpec => {
  const value = isUtf8(body) && nestingDepth(body) <= MAX_DEPTH ? parseJson(body.toString()) : null
  if (!isJsonObject(value) || !Array.isArray(value.filters))
    throw new SyntaxError('the answer is no filter spec')
  const filters = new Map<string, Filter>()
  const registries = new Map<string, readonly string[]>()
  for (const entry of value.filters.slice(0, MAX_FILTERS)) {
    const filter = isJsonObject(entry) ? readFilter(entry) : null
    if (filter === null || !isJsonObject(entry) || filters.has(filter.name)) continue
    const from = readRegistries(entry.registries)
    if (from?.length === 0) continue
    filters.set(filter.name, filter)
    if (from !== null) registries.set(filter.name, from)
  }
  return { etag: readEtag(value.etag), schemaId: readSchemaId(value.schema), filters, registries }
}

/** `null` for one that cannot be asked here. */
const readFilter = ({
  name,
  path,
  op,
  value_type,
  alias_kind,
  on_missing,
  indexed,
}: JsonObject): Filter | null => {
  const parsed = filterEntry.safeParse({ name, path, op, value_type, alias_kind, on_missing, indexed })
  if (!parsed.success || !isPlainText(parsed.data.name)) return null
  return compileFilter(parsed.data)
}

const isPlainText = (text: string): boolean => text.isWellFormed() && text.search(CONTROL) < 0

/** `null` where nothing is said; empty where what is said is no list of names. */
const readRegistries = (value: JsonValue | undefined): readonly string[] | null => {
  if (value === undefined) return null
  if (!Array.isArray(value)) return []
  return value
    .slice(0, MAX_REGISTRIES)
    .filter((name): name is string => typeof name === 'string' && REGISTRY_NAME.test(name))
}

const readEtag = (value: JsonValue | undefined): string | null =>
  typeof value === 'string' && ETAG.test(value) ? value : null

/** As buyers of the deployed protocol read it: trimmed; a blank one counts as undeclared. */
const readSchemaId = (schema: JsonValue | undefined): string | null => {
  const id = isJsonObject(schema) && typeof schema.id === 'string' ? schema.id.trim() : ''
  return id.slice(0, MAX_SCHEMA_ID_CHARACTERS).toWellFormed().replaceAll(CONTROL, '\ufffd') || null
}
