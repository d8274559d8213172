import { SourceError } from '../../domain/source/source-error.ts'
import { EntrepotError } from '../../errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../json/value.ts'
import { createShapeCheck, type ShapeCheck } from '../../registry/write/listing-shape.ts'
import { validateListing } from '../../registry/write/validate.ts'
import { type DraftListing, draftJson } from '../listing-file.ts'
import {
  describeErrorResponse,
  describeViolation,
  getEndpoint,
  isUnauthorized,
  type RegistryClient,
  readJsonObject,
} from './registry-client.ts'
import type { Registry } from './select-registries.ts'

/** Gives the violations, `path: message` each. */
export type ListingCheck = (draft: DraftListing) => string[]

/**
 * The check that the Registry itself runs, by the listing shape of its filter spec.
 * @throws SourceError for a Registry without one
 */
export async function fetchListingCheck(
  client: RegistryClient,
  registry: Registry,
  timeoutMs: number,
): Promise<ListingCheck> {
  const response = await getEndpoint(client, registry, '/filter-spec', timeoutMs)
  const { listing_shape: shape } = readJsonObject(response)
  if (response.status !== 200 || !isJsonObject(shape)) {
    const reason = isUnauthorized(response) ? 'unauthorized' : 'bad_envelope'
    throw new SourceError(reason, `no listing shape in its filter spec: ${describeErrorResponse(response)}`)
  }
  const check = compile(shape)
  return (draft) => {
    try {
      return validateListing(parseJson(draftJson(draft)) as JsonObject, check).errors
    } catch (cause) {
      if (!(cause instanceof EntrepotError)) throw cause
      return cause.errors.map(describeViolation)
    }
  }
}

function compile(shape: JsonObject): ShapeCheck {
  try {
    return createShapeCheck(shape)
  } catch (cause) {
    throw new SourceError('bad_envelope', 'its listing shape is not a JSON Schema', { cause })
  }
}
