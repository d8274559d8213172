import { readFileSync } from 'node:fs'
import {
  compileFilter,
  type Filter,
  type FilterDefinition,
  type FilterSpec,
} from '../../src/filter-spec/filter.ts'
import { decodeQuery } from '../../src/filter-spec/parameters.ts'
import { type JsonValue, parseJson } from '../../src/json/value.ts'

/** One executed case of the deployed protocol, for our evaluators. */
export type FilterVector = {
  id: string
  /** The filters that its query may use. */
  spec: Pick<FilterSpec, 'filters'>
  /** Query parameters, reserved names included: the cases were executed after that stage. */
  pairs: readonly (readonly [name: string, value: string])[]
  listing: JsonValue
  expected: 'match' | 'no-match' | 'error'
  /** The deployed error text, if an error is expected. */
  detail: string | null
}

/** Every case of `filter-vectors.json`, as its `reading` explains. */
export const filterVectors = (): FilterVector[] => file.vectors.map(toVector)

type StoredVector = {
  id: string
  spec: string
  listing?: JsonValue
  listing_text?: string
  query?: [string, string][]
  qs?: string
  expected: FilterVector['expected']
  error?: { status: number; detail: string }
}

type StoredFilter = Pick<FilterDefinition, 'name' | 'path' | 'op' | 'value_type'> & Partial<FilterDefinition>

type VectorFile = {
  specs: Record<string, StoredFilter[]>
  listings: Record<string, JsonValue>
  vectors: StoredVector[]
}

const file: VectorFile = JSON.parse(
  readFileSync(new URL('../fixtures/filter-vectors.json', import.meta.url), 'utf8'),
)

function toVector(stored: StoredVector): FilterVector {
  const pairs = stored.query ?? decodeQuery(stored.qs!)
  return {
    id: stored.id,
    spec: { filters: filtersOf(stored.spec, pairs) },
    pairs,
    listing: listingOf(stored),
    expected: stored.expected,
    detail: stored.error?.detail ?? null,
  }
}

/** Compiles only what the query names: the `paths` spec has paths that our dialect refuses. */
function filtersOf(spec: string, pairs: FilterVector['pairs']): Map<string, Filter> {
  const named = new Set(pairs.flatMap(([name]) => [name, name.replace(/^strict\./, '')]))
  const filters = file.specs[spec]!.filter(({ name }) => named.has(name))
  return new Map(filters.map((filter) => [filter.name, compileFilter({ ...DEFAULTS, ...filter })]))
}

const DEFAULTS = { alias_kind: null, on_missing: 'fail', indexed: false } as const

function listingOf({ listing, listing_text: text }: StoredVector): JsonValue {
  if (text !== undefined) return parseJson(text)
  return typeof listing === 'string' && listing.startsWith('@') ? file.listings[listing.slice(1)]! : listing!
}
