import { plural } from '../../domain/plural.ts'
import { formatAge } from '../../domain/timestamp.ts'
import { nameSome } from '../../gateway/source-report.ts'
import { MANY_SOURCES, type SourceNote } from '../../wire/source.ts'
import { describeCompleteness } from '../notices.ts'
import { plainName } from '../quoted.ts'
import { DETAIL, defineTool } from '../tool.ts'

export const listSourcesTool = defineTool({
  name: 'list_sources',
  description:
    'The Registries that searches read: state, age of the data, open listings. INCOMPLETE: one of them cannot be read ' +
    'now, and searches lack its listings. There may be others that you are not allowed to see.',
  input: DETAIL,
  run: async (market, { detail }, request) => {
    const { complete, sources: all } = await market.sources(request)
    const named = nameSome(
      all.map((one) => [one]),
      {},
    )
    const loaded = named.sourcesCounted === undefined ? [] : all.filter((one) => !named.sources.includes(one))
    const sources = [...named.sources, ...loaded].slice(0, Math.max(MANY_SOURCES, named.sources.length))
    const left = all.length - sources.length
    const more = left === 0 ? '' : ` ${left} of them are not listed; all are loaded.`
    const notice = `${describeCompleteness({ complete, ...named })} ${plural(all.length, 'source')}.${more}`
    return detail === 'full'
      ? { notice, json: JSON.stringify({ complete, sources }) }
      : { notice, lines: sources.map(renderSource) }
  },
})

const MAX_NAME = 200

function renderSource({
  registry,
  state,
  reason,
  listings,
  held = listings,
  of,
  age_seconds,
}: SourceNote): string {
  const parts = [
    plainName(registry, MAX_NAME),
    state,
    reason,
    typeof listings === 'number' &&
      (typeof of === 'number' ? `${held} of ${plural(of, 'listing')}` : plural(listings, 'listing')),
    typeof age_seconds === 'number' && `${formatAge(age_seconds)} old`,
  ]
  return parts.filter((part) => typeof part === 'string').join('|')
}
