import { continents, getCountryDataList, type TContinentCode } from 'countries-list'

/** `AF AN AS EU NA OC SA`. */
export type Continent = TContinentCode

export type Country = {
  /** ISO 3166-1 alpha-2. */
  code: string
  alpha3: string
  /** In English: the common name, then short forms and former names. */
  names: readonly string[]
  /** The one that counts first. */
  continents: readonly Continent[]
}

/** English names by code. */
export const CONTINENTS: Readonly<Record<Continent, string>> = continents

/** The library has them, and ISO 3166-1 does not. */
const NOT_IN_ISO = ['AC', 'TA']

/** All countries with their common names. */
export const LIBRARY_COUNTRIES: readonly Country[] = getCountryDataList()
  .filter(({ iso2 }) => !NOT_IN_ISO.includes(iso2))
  .map(({ iso2, iso3, name, continent, continents: all = [] }) => ({
    code: iso2,
    alpha3: iso3,
    names: [name],
    continents: [...new Set([continent, ...all])],
  }))
