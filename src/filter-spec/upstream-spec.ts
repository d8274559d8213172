import { isUtf8 } from 'node:buffer'
import type { SourceError } from '../domain/source/source-error.ts'
import { nestingDepth } from '../json/limits.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../json/value.ts'
import { allowedValues } from './allowed-values.ts'
import { compileFilter, type Filter } from './filter.ts'
import { VERSIONED_SCHEMA } from './schema-id.ts'
import { filterEntry, MAX_FILTERS, queryNames } from './spec-file.ts'

export type UpstreamSpec = {
  /** Sent as `If-Match`; `null` where it does not fit a header. */
  etag: string | null
  schemaId: string | null
  /** By name, without those that cannot be read or evaluated here. */
  filters: ReadonlyMap<string, Filter>
  /** A gateway's names for a filter's Registries; absent for its own filters. */
  registries: ReadonlyMap<string, readonly string[]>
  /** By filter, where its listing shape names them. */
  allowed: ReadonlyMap<string, readonly string[]>
}

export type KnownSpec = {
  readonly current: UpstreamSpec | null
  /** Of the latest request. */
  readonly failure: SourceError | null
  /** Settles after the first request, which it begins. */
  readonly loaded: Promise<unknown>
  /** Requests it unless it is fresh, and never rejects. */
  load: () => Promise<unknown> | null
  /** Requests it again, or joins the running request: an answer has contradicted it. Never rejects. */
  refresh: () => Promise<void>
}

/** Per filter. */
const MAX_REGISTRIES = 100
const MAX_DEPTH = 64
const MAX_SCHEMA_ID_CHARACTERS = 128
/** As many gateways as a query may pass, so that no filter survives by circulating. */
const REGISTRY_NAME = /^[a-z0-9-]{1,64}(?:\/[a-z0-9-]{1,64}){0,2}$/
const ETAG = /^[\x21\x23-\x7e]{1,128}$/
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g

/** A malformed filter spoils only itself. @throws SyntaxError for an answer that is not a filter spec */
export function readUpstreamSpec(body: Buffer): UpstreamSpec {
  const value = isUtf8(body) && nestingDepth(body) <= MAX_DEPTH ? parseJson(body.toString()) : null
  if (!isJsonObject(value) || !Array.isArray(value.filters))
    throw new SyntaxError('the answer is not a filter spec')
  const filters = new Map<string, Filter>()
  const registries = new Map<string, readonly string[]>()
  const allowed = new Map<string, readonly string[]>()
  for (const entry of value.filters.slice(0, MAX_FILTERS)) {
    const filter = isJsonObject(entry) ? readFilter(entry) : null
    if (filter === null || !isJsonObject(entry) || filters.has(filter.name)) continue
    const from = readRegistries(entry.registries)
    if (from?.length === 0) continue
    filters.set(filter.name, filter)
    const values = allowedValues(value.listing_shape ?? null, filter.compiled)
    if (values.length > 0) allowed.set(filter.name, values)
    if (from !== null) registries.set(filter.name, from)
  }
  return { etag: readEtag(value.etag), schemaId: readSchemaId(value.schema), filters, registries, allowed }
}

/** `null` for one that cannot be evaluated here. */
function readFilter(entry: JsonObject): Filter | null {
  const { name, path, op, value_type, alias_kind, on_missing, indexed } = entry
  const { data: called } = queryNames.safeParse(entry)
  const named = { name, ...called, path, op, value_type, alias_kind, on_missing, indexed }
  const parsed = filterEntry.safeParse(named)
  if (!parsed.success || !isPlainText(parsed.data.name)) return null
  return compileFilter(parsed.data)
}

const isPlainText = (text: string): boolean => text.isWellFormed() && text.search(CONTROL) < 0

/** `null` where absent; empty where malformed. */
function readRegistries(value: JsonValue | undefined): readonly string[] | null {
  if (value === undefined) return null
  if (!Array.isArray(value)) return []
  return value
    .slice(0, MAX_REGISTRIES)
    .filter((name): name is string => typeof name === 'string' && REGISTRY_NAME.test(name))
}

const readEtag = (value: JsonValue | undefined): string | null =>
  typeof value === 'string' && ETAG.test(value) ? value : null

/** As the deployed protocol's buyers read it: trimmed, and a blank one is undeclared. */
function readSchemaId(schema: JsonValue | undefined): string | null {
  const text = isJsonObject(schema) ? schema.id : VERSIONED_SCHEMA.test(String(schema)) && schema
  const id = typeof text === 'string' ? text.trim() : ''
  return id.slice(0, MAX_SCHEMA_ID_CHARACTERS).toWellFormed().replaceAll(CONTROL, '\ufffd') || null
}
