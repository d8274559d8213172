import { suggestName } from '../domain/nearest-name.ts'
import { at, type JsonValue } from '../json/value.ts'
import type { FilterDefinition } from './filter.ts'
import { listNames, quote } from './literals.ts'
import { OPERATIONS, parseTest } from './operations/operations.ts'
import type { Path } from './path.ts'

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

type WithValues = FilterDefinition & { allowed?: readonly string[] | undefined }

/** Explains an answer without a match: the values of valid filters that the listing shapes do not name. */
export function describeUnknownValues(
  known: readonly WithValues[],
  pairs: readonly (readonly [name: string, value: string])[],
): string[] {
  return pairs.flatMap(([name, text]) => {
    const filter = known.find((one) => one.name === name)
    if (!filter?.allowed?.length) return []
    const { allowed } = filter
    const test = parseTest(filter, text)
    const values = OPERATIONS[test.op].isByValue && 'values' in test ? [...test.values].map(String) : []
    return values
      .filter((value) => !allowed.includes(value))
      .map((value) =>
        value.includes(',')
          ? `${name}: ${quote(value)} is one value; for any of several, write in:[${value}]`
          : `${name}: ${quote(value)} is not a known value${suggestName(value, allowed) || `; known are ${listNames(allowed)}`}`,
      )
  })
}
