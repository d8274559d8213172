import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/** Ignores `format` and unknown keywords, as deployed. @throws Error for an invalid JSON Schema 2020-12 */
export function compileListingShape(shape: Readonly<Record<string, unknown>>): ValidateFunction {
  const validate = compiled.get(shape) ?? new Ajv2020(OPTIONS).compile(shape)
  compiled.set(shape, validate)
  return validate
}

const OPTIONS = { allErrors: true, strict: false, validateFormats: false, logger: false } as const

/** Cached: compilation takes a good part of the startup time and is needed twice. */
const compiled = new WeakMap<object, ValidateFunction>()
