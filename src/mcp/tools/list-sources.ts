import { plural } from '../../domain/plural.ts'
import { formatAge } from '../../domain/timestamp.ts'
import { describeMode } from '../../wire/describe-mode.ts'
import type { SourceNote } from '../../wire/source.ts'
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
    const { complete, sources } = await market.sources(request)
    const notice = `${describeCompleteness({ complete, sources })} ${plural(sources.length, 'source')}.`
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
  mode,
  live_reason,
  listings,
  age_seconds,
}: SourceNote): string {
  const parts = [
    plainName(registry, MAX_NAME),
    state,
    reason,
    typeof mode === 'string' && mode !== 'local' && describeMode({ mode, live_reason: textOf(live_reason) }),
    typeof listings === 'number' && plural(listings, 'listing'),
    typeof age_seconds === 'number' && `${formatAge(age_seconds)} old`,
  ]
  return parts.filter((part) => typeof part === 'string').join('|')
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
