import { formatAge } from '../domain/timestamp.ts'
import { hasAnswered } from './describe-missing.ts'
import type { SourceNote } from './source.ts'

type Described = Pick<SourceNote, 'registry' | 'state'> & {
  mode?: unknown
  matched?: unknown
  listings?: unknown
  age_seconds?: unknown
}

/**
 * `1 of 2 answered · open-market: copy from 6 min ago`. Sources of upstream gateways do not count, and the gateway's own
 * Registry only where it reports some.
 * @param behind sources behind gateways whose listings are copies
 */
export function describeAnswered(sources: readonly Described[], behind: readonly string[] = []): string {
  const counted = countedSources(sources)
  const copies = counted
    .filter(({ state }) => hasAnswered(state) && state !== 'loaded')
    .map(({ registry, age_seconds: age }) =>
      typeof age === 'number' ? `${registry}: copy from ${formatAge(age)} ago` : `${registry}: copy`,
    )
  const answered = counted.filter(({ state }) => state === 'loaded').length
  return [
    `${answered} of ${counted.length} answered`,
    ...copies,
    ...behind.map((name) => `${name}: copy`),
  ].join(' · ')
}

export const haveAllAnswered = (sources: readonly Described[]): boolean =>
  countedSources(sources).every(({ state }) => state === 'loaded')

function countedSources(sources: readonly Described[]): readonly Described[] {
  const direct = sources.filter(
    ({ registry }) => !sources.some((other) => registry.startsWith(`${other.registry}/`)),
  )
  const others = direct.filter(
    ({ mode, matched, listings }) => mode !== 'local' || Number(matched ?? listings) > 0,
  )
  return others.length > 0 ? others : direct
}
