import type { Reader } from '../domain/api-key.ts'
import type { NamedSource, Visibility } from '../domain/reading.ts'
import { EntrepotError } from '../errors.ts'

/** Whether a reader may know of a source at all: private ones are for those who present a valid key. */
export const maySee = (reader: Reader, { visibility }: { visibility: Visibility }): boolean =>
  visibility === 'public' || reader.kind === 'key'

/**
 * The sources that a reader may see, in the order of the configuration; only the `named` ones where there are any.
 * @throws EntrepotError `bad_request` for a name that is no visible source's, be it unknown or hidden: the same words
 */
export const visibleSources = <S extends Pick<NamedSource, 'name' | 'visibility'>>(
  sources: readonly S[],
  reader: Reader,
  named: readonly string[] | null = null,
): S[] => {
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
