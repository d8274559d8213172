import type { Continent } from './country-library.ts'
import type { PlaceReading } from './place-model.ts'
import type { PlaceTable } from './place-table.ts'

export const UNKNOWN_PLACE: PlaceReading = { country: null, continent: null }

/** A country, unknown where the text names continents without it. */
export function placeOf(
  table: PlaceTable,
  country: string,
  continents: readonly Continent[] | null,
): PlaceReading {
  if (!isWithin(table, country, continents)) return UNKNOWN_PLACE
  return { country, continent: table.countries.get(country)!.continents[0]! }
}

export function isWithin(
  { countries }: PlaceTable,
  country: string,
  continents: readonly Continent[] | null,
): boolean {
  return (
    continents === null ||
    countries.get(country)!.continents.some((continent) => continents.includes(continent))
  )
}

/** A continent, unknown where several are left open, or none. */
export function regionOf(continents: readonly Continent[]): PlaceReading {
  const [continent, ...more] = continents
  return continent === undefined || more.length > 0 ? UNKNOWN_PLACE : { country: null, continent }
}

/** Whether a region's code is no country's, and no airport's. */
export const isRegionOnly = ({ codes, ambiguous }: PlaceTable, code: string): boolean =>
  !codes.has(code) && !ambiguous.has(code)
