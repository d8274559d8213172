import type { Scalar } from '../filter-spec/scalar.ts'

/** Something that no listing says. */
export const UNKNOWN = '?'
const BETWEEN = '|'

/** Any country of a continent. */
export function anyIn(continent: string): string {
  return `${UNKNOWN}${continent}`
}

/** One of several numbers, ascending; a single number is itself, and none is unknown. */
export function oneOf(numbers: readonly number[]): Scalar {
  return numbers.length === 1 ? numbers[0]! : numbers.length === 0 ? UNKNOWN : numbers.join(BETWEEN)
}

/** Whether a derived value leaves open what it is. */
export function isOpen(value: Scalar): boolean {
  return typeof value === 'string' && (value.startsWith(UNKNOWN) || value.includes(BETWEEN))
}

/** The continent of `anyIn`; `null` for any other value. */
export function continentOf(value: string): string | null {
  return value.length > 1 && value.startsWith(UNKNOWN) ? value.slice(1) : null
}

/** The numbers of `oneOf`; `null` where nothing is known. */
export function numbersOf(value: Scalar): readonly number[] | null {
  if (typeof value !== 'string') return [Number(value)]
  return value.includes(BETWEEN) ? value.split(BETWEEN).map(Number) : null
}
