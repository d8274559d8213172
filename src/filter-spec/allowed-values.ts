import { nearestValue } from '../domain/nearest-name.ts'
import { at, type JsonValue } from '../json/value.ts'
import type { Filter, FilterDefinition } from './filter.ts'
import { listNames, quote, writeSet } from './literals.ts'
import { OPERATIONS, parseTest } from './operations/operations.ts'
import type { Path } from './path.ts'
import { facetText } from './scalar.ts'

const MAX_VALUES = 200
const MAX_LENGTH = 200

/** The values that a listing shape (JSON Schema) names for a path; empty where it names none, or too many. */
export function allowedValues(shape: JsonValue, path: Path): readonly string[] {
  const steps = path.flatMap((step) => (step.kind === 'member' ? ['properties', step.name] : ['items']))
  const values = at(shape, ...steps, 'enum')
  if (!Array.isArray(values) || values.length > MAX_VALUES) return []
  const texts = values.filter((value) => typeof value === 'string' && value.length <= MAX_LENGTH)
  return texts.length === values.length ? (texts as string[]) : []
}

type WithValues = FilterDefinition &
  Pick<Filter, 'parseDerived'> & {
    /** The only values that the listing shapes name. */
    allowed?: readonly string[] | undefined
    /** Of open listings; `other`: how many more have a value that is not here. */
    counts?: { values: readonly { value: string }[]; other: number } | undefined
  }

/**
 * The values of valid filters that the listing shapes do not name, or no listing has: why an answer lacks what was asked.
 * @param shown how a value of a listing is written
 */
export function describeUnknownValues(
  filters: readonly WithValues[],
  pairs: readonly (readonly [name: string, value: string])[],
  shown: (value: string) => string = (value) => value,
): string[] {
  return pairs.flatMap(([name, text]) => {
    const filter = filters.find((one) => one.name === name)
    if (filter === undefined || !OPERATIONS[filter.op].isByValue) return []
    const { allowed, counts } = filter
    const present = counts?.values.map(({ value }) => value) ?? []
    const names = allowed ?? present
    if (names.length === 0) return []
    return valuesIn(filter, text)
      .filter((value) => !names.includes(value))
      .flatMap((value) => {
        const parts = value.split(',').map((part) => part.trim())
        if (parts.length > 1 && (allowed || parts.every((part) => names.includes(part))))
          return `${name}: ${quote(value)} is one value; for any of several, write ${writeSet('in', parts)}`
        const nearest = nearestValue(value, names)
        const suggestion = nearest === null ? null : `; did you mean ${shown(nearest)}?`
        if (allowed)
          return `${name}: ${quote(value)} is not a known value${suggestion ?? `; known are ${listNames(allowed.map(shown))}`}`
        if (suggestion === null && counts!.other > 0) return []
        return `${name}: no listing has ${quote(value)}${suggestion ?? `; there are ${listNames(present.map(shown))}`}`
      })
  })
}

/** The values that a listing may have to match, as facets write them. What excludes values names none. */
function valuesIn(filter: WithValues, text: string): readonly string[] {
  const meant = filter.parseDerived?.(text).meant
  if (filter.parseDerived !== undefined) return meant?.form === 'in' ? meant.values : []
  const test = parseTest(filter, text)
  return 'values' in test ? Array.from(test.values, (value) => facetText(filter, value)) : []
}
