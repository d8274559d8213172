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

/** Rows of a file. */
export type PlaceRows = {
  countries: readonly CountryRow[]
  states: readonly StateRow[]
  regions: readonly RegionRow[]
  compass: readonly Row<{ words: readonly string[] }>[]
  other_names: readonly Row<{ names: readonly string[] }>[]
  ambiguous: readonly Row<{ codes: readonly string[] }>[]
  places: readonly PlaceRow[]
}

export type CountryRow = Row<{
  country: string
  names?: readonly string[] | undefined
  parts?: readonly string[] | undefined
  cities?: readonly string[] | undefined
  provinces?: readonly string[] | undefined
  continents?: readonly Continent[] | undefined
}>

/** Of the United States. */
type StateRow = Row<{ state: string; name: string; cities?: readonly string[] | undefined }>

export type RegionRow = Row<{
  codes?: readonly string[] | undefined
  words?: readonly string[] | undefined
  continent?: Continent | undefined
  within?: readonly Continent[] | undefined
}>

/** What one source means by a text. */
export type PlaceRow = Row<{
  source: string
  region: string
  country?: string | undefined
  continent?: Continent | undefined
}>

/** `place`: where a member is, for problems. */
export type Row<Members> = Members & { place: (member: string) => string }
