import { type JsonObject, parseJson } from '../domain/json.ts'
import { SourceError } from '../domain/source-error.ts'
import { createShapeCheck, type ShapeCheck } from '../registry/listing-shape.ts'
import type { DraftListing } from './listing-file.ts'

const DEFAULTS = {
  listing_id: '',
  storefront_url: '',
  offer_resource: {},
  accepted_escrows: [],
  demands: [],
  max_duration_seconds: null,
}

/** @throws SourceError `bad_envelope` for a shape that is not a JSON Schema */
export function violationsOf(shape: JsonObject, members: DraftListing['members']): string[] {
  const given = Object.keys(DEFAULTS).flatMap((name) => {
    const value = parseJson(members.get(name) ?? 'null')
    return value === null ? [] : [[name, value] as const]
  })
  const candidate = { ...DEFAULTS, ...Object.fromEntries(given) }
  return compile(shape)(candidate).map(({ path, message }) => `${path}: ${message}`)
}

function compile(shape: JsonObject): ShapeCheck {
  try {
    return createShapeCheck(shape)
  } catch (cause) {
    throw new SourceError('bad_envelope', 'its listing shape is not a JSON Schema', { cause })
  }
}
