import { describeUnknownValues } from '../filter-spec/allowed-values.ts'
import type { Completeness, Discovery, Question } from '../gateway/discovery.ts'
import { describeMissing } from '../wire/describe-missing.ts'
import type { SourceNote } from '../wire/source.ts'

/** Completeness in words for an agent. Holds names and reasons, never text of a listing. */
export function describeCompleteness({ complete, sources }: Completeness): string {
  const stale = sources.flatMap(describeStale)
  const ages = stale.length === 0 ? '' : ` ${stale.join(' ')}`
  if (complete) return `Complete: every source answered.${ages}`
  return `INCOMPLETE: ${missingOf(sources)}. More may exist there: do not conclude from this answer that nothing else does.${ages}`
}

export function describeFound(
  { complete, sources }: Completeness,
  registry: string,
  disputed: readonly string[],
): string {
  const answer = complete
    ? 'The listing was found; every source that could have a better copy has answered.'
    : `INCOMPLETE: ${missingOf(sources)}. It may have a better copy of this listing: do not act on this copy alone.`
  const ages = sources
    .filter(({ registry: name }) => registry === name || registry.startsWith(`${name}/`))
    .flatMap(describeStale)
  const warnings =
    disputed.length === 0
      ? []
      : [
          `WARNING: ${disputed.join(', ')} has this publisher at another storefront. Check the storefront before you pay or negotiate.`,
        ]
  return [answer, ...ages, ...warnings].join(' ')
}

/** With `count` in words, or else the values of filters that no listing can have. */
export async function describeMatches(
  discovery: Discovery,
  { filters }: Pick<Question, 'filters'>,
  { total, ...answer }: Completeness & { total: number },
  count: string,
  signal: AbortSignal,
): Promise<string> {
  const where = answer.complete ? '' : ' in the sources that answered'
  const completeness = describeCompleteness(answer)
  if (total > 0) return `${completeness} ${count}${where}.`
  const known = filters.length === 0 ? [] : (await discovery.filters(signal, false)).filters
  const notes = describeUnknownValues(known, filters).map((note) => note.replace(/[^?]$/, '$&.'))
  return [completeness, `No listing matches${where}.`, ...notes].join(' ')
}

const missingOf = (sources: readonly SourceNote[]): string =>
  sources.flatMap((source) => describeMissing(source) ?? []).join('; ') || 'a source did not answer'

const describeStale = ({ registry, state, reason, age_seconds: age }: SourceNote): string[] =>
  state === 'stale'
    ? [`${registry} was answered from a copy of ${Number(age ?? 0)} s ago${reason ? ` (${reason})` : ''}.`]
    : []
