/** Names of a filter in the query language of buyers of the signed line; `null`: its own name. */
export type QueryNames = { query_name: string | null; query_aliases: readonly string[] }

type Named = { name: string } & Partial<QueryNames>

export const QUERY_NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/

/** All names of a filter in that language, first the one that is shown. */
export const namesIn = ({ name, query_name, query_aliases = [] }: Named): string[] => [
  query_name ?? name,
  ...query_aliases,
]

/**
 * By filter, with each name given once: buyers refuse a filter spec whose names are ambiguous. The earlier of two filters has the
 * name, and an alias gives way to the name of any filter. A filter without a usable name is absent.
 */
export function distinctNames(filters: readonly Named[]): Map<string, QueryNames> {
  const names = new Set<string>()
  const take = (name: string | null | undefined): boolean => {
    if (!name || !QUERY_NAME.test(name) || names.has(name)) return false
    names.add(name)
    return true
  }
  const named = filters.flatMap(({ name, query_name = null, query_aliases = [] }) => {
    if (take(query_name)) return [{ name, query_name, query_aliases }]
    return take(name) ? [{ name, query_name: null, query_aliases }] : []
  })
  return new Map(
    named.map(({ name, query_name, query_aliases }) => [
      name,
      { query_name, query_aliases: query_aliases.filter(take) },
    ]),
  )
}
