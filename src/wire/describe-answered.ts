import { formatAge } from '../domain/timestamp.ts'
import { hasAnswered } from './describe-missing.ts'
import type { SourceNote, SourcesCounted } from './source.ts'

type Described = Pick<SourceNote, 'registry' | 'state'> & {
  mode?: unknown
  matched?: unknown
  listings?: unknown
  age_seconds?: unknown
}

/**
 * `1 of 2 answered · open-market: copy from 6 min ago`. Sources of upstream gateways do not count, and the gateway's own
 * Registry only where it reports some.
 * @param counted sources that `sources` does not name
 * @param behind sources behind gateways whose listings are copies
 */
export function describeAnswered(
  sources: readonly Described[],
  { loaded = 0 }: Partial<SourcesCounted> = {},
  behind: readonly string[] = [],
): string {
  const named = countedSources(sources, loaded)
  const copies = named
    .filter(({ state }) => hasAnswered(state) && state !== 'loaded')
    .map(({ registry, age_seconds: age }) =>
      typeof age === 'number' ? `${registry}: copy from ${formatAge(age)} ago` : `${registry}: copy`,
    )
  const answered = named.filter(({ state }) => state === 'loaded').length + loaded
  return [
    `${answered.toLocaleString('en')} of ${(named.length + loaded).toLocaleString('en')} answered`,
    ...copies,
    ...behind.map((name) => `${name}: copy`),
  ].join(' · ')
}

export const haveAllAnswered = (sources: readonly Described[]): boolean =>
  countedSources(sources).every(({ state }) => state === 'loaded')

/** In seconds; `null` where none is known. */
export function oldestReading(sources: readonly Described[], counted?: SourcesCounted): number | null {
  const ages = [...sources, { age_seconds: counted?.age_seconds }].flatMap(({ age_seconds: age }) =>
    typeof age === 'number' ? [age] : [],
  )
  return ages.length === 0 ? null : Math.max(...ages)
}

function countedSources(sources: readonly Described[], more = 0): readonly Described[] {
  const direct = sources.filter(
    ({ registry }) => !sources.some((other) => registry.startsWith(`${other.registry}/`)),
  )
  const others = direct.filter(
    ({ mode, matched, listings }) => mode !== 'local' || Number(matched ?? listings) > 0,
  )
  return others.length + more > 0 ? others : direct
}
