import type { Continent } from './country-library.ts'
import type { Meaning } from './place-model.ts'
import type { PlaceTable } from './place-table.ts'
import { keyOfWords, type PlaceWord, placeWords } from './place-words.ts'

/** What the names in a text say together. */
type Mentions = {
  /** Of countries, and of states as `US`. Several: the text leaves it open. */
  countries: ReadonlySet<string>
  /** Within all named regions; `null` where no region is named. */
  continents: readonly Continent[] | null
}

const MAX_GLUED_LENGTH = 40
const MAX_CITY_WORDS = 4

/** The names in a plain text, longest first, and the region's code that it begins with. */
export function scanPlace(table: PlaceTable, plain: string): Mentions {
  const words = placeWords(plain)
  const region = table.regions.get(codesOf(plain)[0]!)
  let countries = new Set<string>()
  let continents = region?.continents ?? null
  let either: (Meaning & { kind: 'either' }) | null = null
  for (const meaning of meaningsIn(table, words)) {
    // `Lebanon, Ohio`: the state wins over the country before it.
    if (meaning.kind === 'state') countries = new Set(['US'])
    else if (meaning.kind === 'country') countries.add(meaning.country)
    else if (meaning.kind === 'either') either = meaning
    else if (meaning.kind === 'region')
      continents = meaning.continents.filter((one) => continents?.includes(one) ?? true)
  }
  const isDecided = countries.size === 1 && countries.has('US')
  if (either !== null && !isDecided)
    for (const country of homesOf(either, table, words)) countries.add(country)
  return { countries, continents }
}

/** The parts between hyphens. */
export const codesOf = (plain: string): string[] => plain.split(/[\p{Pd}_]/u).map((code) => code.trim())

function* meaningsIn(table: PlaceTable, words: readonly PlaceWord[]): Generator<Meaning> {
  for (let n = 0; n < words.length; ) {
    const [meaning, length] = longestAt(table, words, n)
    if (meaning !== undefined) yield meaning
    n += length
  }
}

function longestAt(
  table: PlaceTable,
  words: readonly PlaceWord[],
  from: number,
): [meaning: Meaning | undefined, length: number] {
  // Behind a digit it is a part of a code: `x1uk`.
  if (words[from]!.isGlued || words[from]!.isNumber) return [undefined, 1]
  const longest = table.starts.get(words[from]!.text) ?? 0
  for (let length = Math.min(longest, words.length - from); length > 0; length--) {
    const name = words.slice(from, from + length)
    const meaning = isAirportLike(name, words[from + length]) ? undefined : table.names.get(keyOfWords(name))
    if (meaning !== undefined) return [meaning, length]
  }
  return [withoutCompass(table, words[from]!.text), 1]
}

/** Three letters with a number glued to them, such as `AUS1`. */
const isAirportLike = ([word, ...more]: readonly PlaceWord[], next: PlaceWord | undefined): boolean =>
  next?.isGlued === true && more.length === 0 && word!.text.length <= 3

/** The country or region in a word such as `norwayeast`, `eastus`, `germanywestcentral`. */
function withoutCompass({ names, compass }: PlaceTable, text: string): Meaning | undefined {
  let word = text.length > MAX_GLUED_LENGTH ? '' : text
  for (const cut of [cutEnd, cutStart])
    for (let rest = cut(word, compass); rest !== word; rest = cut(word, compass)) {
      word = rest
      const meaning = names.get(word) ?? names.get([...word].join(' '))
      if (meaning?.kind === 'country' || meaning?.kind === 'region') return meaning
    }
  return undefined
}

const cutEnd = (word: string, compass: readonly string[]): string =>
  word.slice(0, word.length - (compass.find((point) => word.endsWith(point))?.length ?? 0))

const cutStart = (word: string, compass: readonly string[]): string =>
  word.slice(compass.find((point) => word.startsWith(point))?.length ?? 0)

/** Where the cities in a text are, of two homes of one name; both without such a city. */
function homesOf(
  { country, state }: Meaning & { kind: 'either' },
  { cities }: PlaceTable,
  words: readonly PlaceWord[],
): readonly string[] {
  const homes = words.flatMap((_word, from) =>
    Array.from({ length: MAX_CITY_WORDS }, (_, n) => keyOfWords(words.slice(from, from + n + 1))).flatMap(
      (key) => cities.get(key) ?? [],
    ),
  )
  const found = [homes.includes(country) ? country : '', homes.includes(`US-${state}`) ? 'US' : '']
  return found.some(Boolean) ? found.filter(Boolean) : [country, 'US']
}
