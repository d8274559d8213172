import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { ConfigError, type Violation } from '../errors.ts'
import { type CanonicalValue, Float, filterSpecEtag } from './etag.ts'
import {
  compileFilter,
  definitionOf,
  type FilterDefinition,
  type FilterSpec,
  signedDefinitions,
} from './filter.ts'
import { compileListingShape } from './listing-shape.ts'
import { quote } from './literals.ts'
import { namesIn } from './query-names.ts'
import { filterEntry, MAX_FILTERS, specFile } from './spec-file.ts'
import { readYaml } from './yaml-document.ts'

/** @throws ConfigError with every problem */
export const readFilterSpec = (file: string): FilterSpec => parseFilterSpec(readText(file), file)

/** @throws ConfigError with every problem: its path is file, key and filter, its message the reason */
export function parseFilterSpec(text: string, file: string): FilterSpec {
  const reading = readYaml(text)
  if ('problems' in reading) throw refusal(file, reading.problems)
  const problems: Violation[] = []
  const content = membersOf(reading.value)
  const head = check(specFile, toPlain(reading.value), problems, '', '')
  const filters = readFilters(content.filters, problems)
  const listingShape = readListingShape(content.listing_shape, problems)
  if (head === null || listingShape === null || problems.length > 0) throw refusal(file, problems)

  const { version } = head
  const schema = head.schema ?? head.schema_identity ?? null
  const source = { version, schema, listingShape: content.listing_shape ?? null }
  return {
    version,
    etag: filterSpecEtag({ ...source, filters: filters.map(definitionOf) }),
    line: 'plain',
    signedEtag: filterSpecEtag({ ...source, filters: signedDefinitions(filters) }),
    schema,
    listingShape,
    filters: new Map(filters.map((filter) => [filter.name, compileFilter(filter)])),
  }
}

function readText(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    throw refusal(file, [
      { path: '', message: `cannot be read: ${code === 'ENOENT' ? 'no such file' : message}` },
    ])
  }
}

const refusal = (file: string, problems: readonly Violation[]): ConfigError =>
  new ConfigError(
    problems.map(({ path, message }) => ({ path: path === '' ? file : `${file}: ${path}`, message })),
  )

type Members = Readonly<Record<string, CanonicalValue>>

const membersOf = (value: CanonicalValue): Members => (isMapping(value) ? value : {})

const isMapping = (value: CanonicalValue | undefined): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Float)

/** As `JSON.parse` would give it: no floats apart from integers, large integers as doubles. */
function toPlain(value: CanonicalValue): unknown {
  if (value instanceof Float) return value.value
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(toPlain)
  return isMapping(value) ? plainMapping(value) : value
}

const plainMapping = (mapping: Members): Record<string, unknown> =>
  Object.fromEntries(Object.entries(mapping).map(([name, member]) => [name, toPlain(member)]))

function readFilters(list: CanonicalValue | undefined, problems: Violation[]): FilterDefinition[] {
  if (!Array.isArray(list)) return []
  const places = new Map<unknown, string>()
  const calledPlaces = new Map<string, string>()
  return list.slice(0, MAX_FILTERS).flatMap((entry: CanonicalValue, n) => {
    const path = `filters[${n}]`
    const { name } = membersOf(entry)
    const label = typeof name === 'string' ? ` (filter ${quote(name)})` : ''
    const first = places.get(name)
    if (label !== '' && first !== undefined) {
      problems.push({ path: `${path}.name${label}`, message: `the name is taken by ${first}` })
    }
    places.set(name, first ?? path)
    const filter = check(filterEntry, toPlain(entry), problems, path, label)
    if (filter === null) return []
    if (first === undefined) checkQueryNames(filter, { path, label }, calledPlaces, problems)
    return filter
  })
}

/** A name of the query language is of one filter. */
function checkQueryNames(
  filter: FilterDefinition,
  { path, label }: { path: string; label: string },
  places: Map<string, string>,
  problems: Violation[],
): void {
  for (const [n, name] of namesIn(filter).entries()) {
    const first = places.get(name)
    const member = n === 0 ? 'query_name' : `query_aliases[${n - 1}]`
    if (first !== undefined)
      problems.push({ path: `${path}.${member}${label}`, message: `${quote(name)} is a name of ${first}` })
    places.set(name, first ?? path)
  }
}

function readListingShape(
  shape: CanonicalValue | undefined,
  problems: Violation[],
): Record<string, unknown> | null {
  if (!isMapping(shape)) return null
  const listingShape = plainMapping(shape)
  try {
    compileListingShape(listingShape)
  } catch (cause) {
    const why = (cause as Error).message
    problems.push({ path: 'listing_shape', message: `is not a JSON Schema 2020-12: ${why}` })
  }
  return listingShape
}

function check<Output>(
  schema: z.ZodType<Output>,
  value: unknown,
  problems: Violation[],
  root: string,
  label: string,
): Output | null {
  const result = schema.safeParse(value, {
    error: ({ input }) => (input === undefined ? 'is missing' : undefined),
  })
  if (result.success) return result.data
  for (const issue of result.error.issues) {
    problems.push({ path: dotted(root, issue.path) + label, message: issue.message })
  }
  return null
}

const dotted = (root: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, step) => (text === '' ? String(step) : `${text}.${String(step)}`), root)
