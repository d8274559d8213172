import { suggestName } from '../../domain/nearest-name.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { EntrepotError } from '../../errors.ts'
import { at, isJsonObject, type JsonObject, parseJson } from '../../json/value.ts'
import { createShapeCheck, type ShapeCheck } from '../../registry/write/listing-shape.ts'
import { validateListing } from '../../registry/write/validate.ts'
import { type DraftListing, draftJson } from '../listing-file.ts'
import type { ListingProblem } from '../writes/payment-problems.ts'
import {
  describeErrorResponse,
  describeViolation,
  getEndpoint,
  isUnauthorized,
  type RegistryClient,
  readJsonObject,
} from './registry-client.ts'
import type { Registry } from './select-registries.ts'

/** `path: message` each. */
export type ListingCheck = {
  violations: (draft: DraftListing) => string[]
  /** Members of the offer that the shape does not know, and that resemble one that it does. */
  misspelt: (draft: DraftListing) => ListingProblem[]
}

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
  const members = at(shape, 'properties', 'offer_resource', 'properties')
  const names = isJsonObject(members) ? Object.keys(members) : []
  return {
    violations: (draft) => {
      try {
        const text = draftJson(draft)
        const body = { bytes: Buffer.from(text), value: parseJson(text) as JsonObject }
        // Only drafts for the signed line have them.
        const { settlement_options } = body.value
        const more = settlement_options === undefined ? {} : { settlement_options }
        return validateListing(body, (one) => check({ ...one, ...more })).errors
      } catch (cause) {
        if (!(cause instanceof EntrepotError)) throw cause
        return cause.errors.map(describeViolation)
      }
    },
    misspelt: ({ members }) => {
      const offer = parseJson(members.get('offer_resource') ?? 'null')
      return Object.keys(isJsonObject(offer) ? offer : {}).flatMap((name) => {
        const suggestion = names.includes(name) ? '' : suggestName(name, names)
        const message = `offer_resource.${name}: not in the listing shape${suggestion}`
        return suggestion === '' ? [] : [{ message, text: name, isMistake: true }]
      })
    },
  }
}

function compile(shape: JsonObject): ShapeCheck {
  try {
    return createShapeCheck(shape)
  } catch (cause) {
    throw new SourceError('bad_envelope', 'its listing shape is not a JSON Schema', { cause })
  }
}
