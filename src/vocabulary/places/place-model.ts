import type { Continent } from './country-library.ts'

/** What is known of a place. `null`: unknown. */
export type PlaceReading = {
  /** ISO 3166-1 alpha-2. */
  country: string | null
  /** `AF AN AS EU NA OC SA`. */
  continent: string | null
}

/** A continent, or something within one or more. */
export type Region = { kind: 'region'; isContinent: boolean; continents: readonly Continent[] }

/** What a name means. `either` is a country's and a state's, and `nothing` is elsewhere than the country in it. */
export type Meaning =
  | { kind: 'country'; country: string; isPart: boolean }
  | { kind: 'state'; state: string }
  | { kind: 'either'; country: string; state: string }
  | Region
  | { kind: 'compass' }
  | { kind: 'nothing' }
