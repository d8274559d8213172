import { maySee } from '../domain/reader.ts'
import { oncePerObject } from '../domain/remembered.ts'
import type { Holding } from '../domain/source/holding.ts'
import type { Item } from '../domain/source/item.ts'
import { EntrepotError } from '../errors.ts'
import type { Asker } from './asking.ts'

/** @throws EntrepotError `bad_request`, in the same words for unknown and hidden names */
export function visibleSources(sources: readonly Holding[], { reader, named = null }: Asker) {
  const visible = reader.sources === null ? sources : sources.filter((source) => maySee(reader, source))
  if (named === null) return visible
  const unknown = named.filter((name) => !visible.some((source) => source.name === name))
  if (unknown.length > 0)
    throw new EntrepotError(
      'bad_request',
      `There is no source ${unknown.map((name) => JSON.stringify(name)).join(', ')}: see GET /sources`,
    )
  return visible.filter(({ name }) => named.includes(name))
}

/** The best first: by priority, then in the order of the configuration, which has the own Registry first. */
export const rankSources = oncePerObject((sources: readonly Holding[]): readonly Holding[] =>
  sources.toSorted((a, b) => a.priority - b.priority),
)

/** `eu/curated` for a copy from the gateway `eu`. */
export function qualifiedName(source: string, { origin }: Pick<Item, 'origin'>): string {
  return origin === undefined ? source : `${source}/${origin.registry}`
}
