import { at, type JsonValue } from '../json/value.ts'
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
