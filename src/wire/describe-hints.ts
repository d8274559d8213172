import { plural } from '../domain/plural.ts'
import { DERIVED_NAMES, type DerivedName } from '../vocabulary/names.ts'

const LACKS: Readonly<Record<DerivedName, string>> = {
  gpu: 'do not name a known GPU',
  gpu_variant: 'do not say which variant of the GPU they have',
  gpu_memory_gb_min: 'do not say how much GPU memory they have',
  gpu_memory_total_gb_min: 'do not say how much GPU memory they have in all',
  country: 'do not say in which country they are',
  continent: 'do not say where they are',
  gpus_min: 'do not say how many GPUs they have',
  sla_min: 'do not state an SLA',
  rent_hours_min: 'do not say how long they can be rented',
}

/** `9 more do not say where they are.` for each derived filter that leaves listings out unjudged; empty for none. */
export function describeUnplaced(unplaced: Readonly<Record<string, number>> = {}): string[] {
  return DERIVED_NAMES.flatMap((name) => {
    const count = Object.hasOwn(unplaced, name) ? unplaced[name]! : 0
    return count === 0 ? [] : [`${count} more ${LACKS[name]}.`]
  })
}

type Suggestion = { query: Readonly<Record<string, string>>; total: number }

/** `5 listings are spelled so; 140 match gpu=A100.` @param shown how a value is written, which may be a seller's */
export function describeSuggestions(
  total: number,
  suggestions: readonly Suggestion[] = [],
  shown: (value: string) => string = (value) => value,
): string[] {
  return suggestions.map(({ query, total: more }) => {
    const asked = Object.entries(query).map(([name, value]) => `${name}=${shown(value)}`)
    return `${total === 1 ? '1 listing is' : `${total} listings are`} spelled so; ${more} match ${asked.join('&')}.`
  })
}

/** Of offers whose price is too low to be meant. */
export const describeOutliers = (count: number): string =>
  `${plural(count, 'offer')} below 1 % of the median price of the model, probably bait`
