import { nearestValue } from '../domain/nearest-name.ts'
import type { ListingQuery } from '../domain/query.ts'
import { EntrepotError } from '../errors.ts'
import type { Criterion, Filter, FilterSpec } from '../filter-spec/filter.ts'
import { writeSet } from '../filter-spec/literals.ts'
import { OPERATIONS, setFormOf } from '../filter-spec/operations/operations.ts'
import { parseCriteria } from '../filter-spec/parameters.ts'
import { readFacets } from './facets.ts'
import { countMatches, type Suggestion } from './hints.ts'
import { unlessRefused } from './source-report.ts'
import type { MergeRequest, MergeSettings } from './sources.ts'

type Asked = { query: ListingQuery; spec: Pick<FilterSpec, 'filters'> }

/** Filters of a query whose values are looked up. */
const MAX_LOOKED_UP = 4
/** Neighbours in a set that may be pieces of one value: `Michigan, US, NA` has three. */
const MAX_PIECES = 3
/** Values of a set that are looked at. */
const MAX_SET = 100

/**
 * A set that splits a value which listings have is refused: it would match nothing, as if there were no such listing.
 * @throws EntrepotError `bad_request` with the set as a JSON array
 */
export async function refuseSplitValues(
  settings: MergeSettings,
  { query, spec }: Asked,
  request: MergeRequest,
): Promise<void> {
  const sets = query.criteria.slice(0, MAX_LOOKED_UP).flatMap(({ filter }) => splitSetOf(query, filter) ?? [])
  await Promise.all(
    sets.map(async ({ filter, pieces }) => {
      const joined = joinedPieces(pieces)
      const whole = { ...query, publisher: null, priceLimit: undefined }
      const known = await valuesOf(settings, { query: whole, spec }, filter, { among: joined, request })
      const values = joinKnown(pieces, new Set(known))
      if (values.length === pieces.length) return
      const set = writeSet(filter.op, values)
      throw new EntrepotError(
        'bad_request',
        `${filter.name}: ${JSON.stringify(values.find((one) => one.includes(',')))} is one value with a comma; write the set as a JSON array: ${filter.name}=${set}`,
        { members: { suggestions: [{ query: { [filter.name]: set } }] } },
      )
    }),
  )
}

type SplitSet = { filter: Filter; pieces: readonly string[] }

/** `null` for what is no set of texts, and for a JSON array. */
function splitSetOf({ filters }: ListingQuery, filter: Filter): SplitSet | null {
  const text = filters.findLast(([name]) => name === filter.name)?.[1] ?? ''
  const form = setFormOf(text)
  if (filter.parseDerived !== undefined || filter.value_type !== 'string') return null
  if (form !== filter.op || !OPERATIONS[form].isByValue || text.includes('"')) return null
  const pieces = text
    .slice(form.length + 2, -1)
    .split(',')
    .map((piece) => piece.trim())
  return pieces.length < 2 || pieces.length > MAX_SET ? null : { filter, pieces }
}

/** Neighbours of a set as one value, with and without a blank behind each comma. */
function joinedPieces(pieces: readonly string[]): string[] {
  const joined = pieces.flatMap((_, start) =>
    Array.from({ length: MAX_PIECES - 1 }, (_, n) => pieces.slice(start, start + n + 2)),
  )
  return [
    ...new Set(joined.filter(({ length }) => length > 1).flatMap((one) => [one.join(', '), one.join(',')])),
  ]
}

/** The pieces, with those that make a known value joined. */
function joinKnown(pieces: readonly string[], known: ReadonlySet<string>): string[] {
  const values: string[] = []
  for (let at = 0; at < pieces.length; ) {
    const counts = Array.from({ length: MAX_PIECES - 1 }, (_, n) => MAX_PIECES - n)
    const found = counts
      .map((count) => pieces.slice(at, at + count))
      .find((one) => one.length > 1 && [', ', ','].some((comma) => known.has(one.join(comma))))
    const count = found?.length ?? 1
    const text = found?.join(', ') ?? pieces[at]!
    values.push(known.has(text) || found === undefined ? text : found.join(','))
    at += count
  }
  return values
}

/** For a query without a match: the nearest value that listings have in place of one that none has, where that finds some. */
export async function suggestValues(
  settings: MergeSettings,
  { query, spec }: Asked,
  request: MergeRequest,
): Promise<Suggestion[]> {
  const asked = query.criteria.filter(isOneText).slice(0, MAX_LOOKED_UP)
  const found = await Promise.all(
    asked.map(async ({ filter }): Promise<Suggestion | null> => {
      const text = query.filters.findLast(([name]) => name === filter.name)![1]
      const whole = { ...query, criteria: [], filters: [], priceLimit: undefined, publisher: null }
      const values = await valuesOf(settings, { query: whole, spec }, filter, { among: null, request })
      const nearest = values.includes(text) ? null : nearestValue(text, values)
      if (nearest === null) return null
      const filters = query.filters.map(
        ([name, value]) => [name, name === filter.name ? nearest : value] as const,
      )
      const criteria = parseCriteria(spec, filters)
      const total = await unlessRefused(countMatches(settings, { ...query, filters, criteria }, request))
      return total === null || total === 0 ? null : { query: { [filter.name]: nearest }, total }
    }),
  )
  return found.filter((one) => one !== null)
}

function isOneText({ filter, test }: Criterion): boolean {
  return (
    filter.parseDerived === undefined &&
    OPERATIONS[filter.op].isByValue &&
    filter.value_type === 'string' &&
    'values' in test &&
    test.values.size === 1
  )
}

/** The most frequent values of a filter, of sources that the reader may see; empty where they cannot be counted. */
async function valuesOf(
  settings: MergeSettings,
  { query, spec }: Asked,
  filter: Filter,
  { among, request }: { among: readonly string[] | null; request: MergeRequest },
): Promise<readonly string[]> {
  const filters = among === null ? [] : [[filter.name, `${filter.op}:${JSON.stringify(among)}`] as const]
  const asked = {
    ...query,
    filters,
    criteria: parseCriteria(spec, filters),
    by: [filter],
    per: 'gpu',
  } as const
  const counted = await unlessRefused(readFacets(settings, asked, { ...request, requireAll: false }))
  return counted?.facets[filter.name]?.values.map(({ value }) => value) ?? []
}
