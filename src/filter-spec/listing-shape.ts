import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/** Ignores `format` and unknown keywords, as deployed. @throws Error for an invalid JSON Schema 2020-12 */
export function compileListingShape(shape: Readonly<Record<string, unknown>>): ValidateFunction {
  const validate = compiled.get(shape) ?? compile(shape)
  compiled.set(shape, validate)
  return validate
}

function compile(shape: Readonly<Record<string, unknown>>): ValidateFunction {
  META.validateSchema(shape, true)
  return new Ajv2020({ ...OPTIONS, validateSchema: false }).compile(shape)
}

const OPTIONS = { allErrors: true, strict: false, validateFormats: false, logger: false } as const

/** Checks shapes and holds none. To compile the schema of schemas takes longer than any shape. */
const META = new Ajv2020(OPTIONS)

/** Cached: compilation takes a good part of the startup time and is needed twice. */
const compiled = new WeakMap<object, ValidateFunction>()
