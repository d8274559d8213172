import { z } from 'zod'
import { suggestName } from '../domain/nearest-name.ts'
import type { Violation } from '../errors.ts'

/** What a view may be named, in the file and in keys. */
const VIEW_NAME = /^[a-z0-9-]{1,64}$/
const RESERVED = ['all', 'public', 'none'] as const
/** Of keys, besides those of the file. */
const KEY_VIEWS = ['all', 'public'] as const
const MAX_VIEWS = 32
const MAX_FILTERS = 32
const MAX_VALUES = 200
const MOST = 1_000_000

const scalar = z.union(
  [z.string().min(1), z.number(), z.boolean()],
  'expected a text, a number, true or false',
)
/** Filters of the spec or derived ones by name; a list is the set of its values. */
export const filterTable = z
  .record(z.string(), z.union([scalar, z.array(scalar).min(1).max(MAX_VALUES)]))
  .refine((table) => Object.keys(table).length <= MAX_FILTERS, `expected at most ${MAX_FILTERS} filters`)

export type FilterEntries = z.infer<typeof filterTable>

const view = z.strictObject({
  name: z.string().regex(VIEW_NAME, 'expected 1 to 64 characters of a-z, 0-9 and -'),
  sources: z.array(z.string()).min(1).optional(),
  filter: filterTable.default({}),
  requests_per_minute: z.number().int().min(1).max(MOST).optional(),
  max_watchers_per_reader: z.number().int().min(1).max(MOST).optional(),
})

export const viewList = z.array(view).max(MAX_VIEWS).default([])

export const viewChoices = { anonymous: z.string().default('public'), keys: z.string().default('all') }

export type ViewOptions = {
  name: string
  /** `null`: all public ones. */
  sources: readonly string[] | null
  filter: FilterEntries
  /** `null`: as for all keys. */
  requestsPerMinute: number | null
  maxWatchersPerReader: number | null
  /** Place in the gateway file, of what the filter spec shows to be wrong. */
  placeOf: (filter: string) => string
}

type ViewsDocument = {
  views: z.infer<typeof viewList>
  access: { anonymous: string; keys: string }
}

/** Adds what is wrong with names: of views, of their sources, and of the views in `[access]`. */
export function checkViews(
  { views, access }: ViewsDocument,
  sources: readonly string[],
  problems: Violation[],
): void {
  const names = views.map(({ name }) => name)
  for (const [n, { name, sources: named = [] }] of views.entries()) {
    const path = `views[${n}]`
    if (RESERVED.some((one) => one === name))
      problems.push({ path: `${path}.name`, message: `'${name}' is reserved; choose another name` })
    if (names.indexOf(name) < n)
      problems.push({ path: `${path}.name`, message: `two views are named '${name}'; rename one` })
    for (const source of named)
      if (!sources.includes(source))
        problems.push({ path: `${path}.sources`, message: noSuch('source', source, sources) })
  }
  for (const [member, also] of [
    ['anonymous', RESERVED],
    ['keys', KEY_VIEWS],
  ] as const) {
    const known = [...also, ...names]
    if (!known.includes(access[member]))
      problems.push({ path: `access.${member}`, message: noSuch('view', access[member], known) })
  }
}

export function noSuch(kind: 'source' | 'view', name: string, names: readonly string[]): string {
  return `there is no ${kind} '${name}'${suggestName(name, names)}; known are ${names.join(', ')}`
}

/** What a key may name. */
export function keyViews(views: readonly { name: string }[]): string[] {
  return [...KEY_VIEWS, ...views.map(({ name }) => name)]
}

/** @param placeOf file, line and path of a path */
export function viewOptions(
  { views }: Pick<ViewsDocument, 'views'>,
  placeOf: (path: string) => string,
): ViewOptions[] {
  return views.map((entry, n) => ({
    name: entry.name,
    sources: entry.sources ?? null,
    filter: entry.filter,
    requestsPerMinute: entry.requests_per_minute ?? null,
    maxWatchersPerReader: entry.max_watchers_per_reader ?? null,
    placeOf: (filter) => placeOf(`views[${n}].filter.${filter}`),
  }))
}
