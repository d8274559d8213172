import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/**
 * A listing shape (JSON Schema 2020-12) as a validator that finds every violation. `format` is not asserted, and
 * unknown keywords are ignored, as in the deployed protocol.
 * @throws Error that says why the shape is no such schema
 */
export const compileListingShape = (shape: Readonly<Record<string, unknown>>): ValidateFunction => {
  const validate = compiled.get(shape) ?? new Ajv2020(OPTIONS).compile(shape)
  compiled.set(shape, validate)
  return validate
}

const OPTIONS = { allErrors: true, strict: false, validateFormats: false, logger: false } as const

/** Compiled when it is read, to be checked, and again when it is used: once is a good part of a start. */
const compiled = new WeakMap<object, ValidateFunction>()
