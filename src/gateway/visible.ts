import type { Reader } from '../domain/api-key.ts'
import type { NamedSource, Visibility } from '../domain/reading.ts'
import { EntrepotError } from '../errors.ts'

/** Private sources are hidden from readers without a valid key. */
export const maySee = (reader: Reader, { visibility }: { visibility: Visibility }): boolean =>
  visibility === 'public' || reader.kind === 'key'

/** @throws EntrepotError `bad_request`, in the same words for unknown and hidden names */
export function visibleSources<S extends Pick<NamedSource, 'name' | 'visibility'>>(
  sources: readonly S[],
  reader: Reader,
  named: readonly string[] | null = null,
): S[] {
  const visible = sources.filter((source) => maySee(reader, source))
  if (named === null) return visible
  const unknown = named.filter((name) => !visible.some((source) => source.name === name))
  if (unknown.length > 0)
    throw new EntrepotError(
      'bad_request',
      `There is no source ${unknown.map((name) => JSON.stringify(name)).join(', ')}: see GET /sources`,
    )
  return visible.filter(({ name }) => named.includes(name))
}
