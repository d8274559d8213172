import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/**
 * A listing shape (JSON Schema 2020-12) as a validator that finds every violation. `format` is not asserted, and
 * unknown keywords are ignored, as in the deployed protocol (`protocol.md` 1.12).
 * @throws Error that says why the shape is no such schema
 */
export const compileListingShape = (shape: Readonly<Record<string, unknown>>): ValidateFunction =>
  new Ajv2020({ allErrors: true, strict: false, validateFormats: false, logger: false }).compile(shape)
