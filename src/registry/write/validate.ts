import { z } from 'zod'
import { MAX_LISTING_BYTES } from '../../domain/listing.ts'
import { objectMembers } from '../../json/members.ts'
import type { JsonObject } from '../../json/value.ts'
import { invalidBody, listingTooLarge } from '../errors.ts'
import type { Candidate, ShapeCheck } from './listing-shape.ts'
import {
  integer,
  isFieldName,
  isPlainName,
  type JsonBody,
  object,
  objects,
  requireTypes,
  string,
} from './request.ts'

export const validateRequest = z
  .looseObject({
    listing_id: string,
    storefront_url: string.default(''),
    offer_resource: object.default({}),
    accepted_escrows: objects.default([]),
    demands: objects.default([]),
    max_duration_seconds: integer.nullable().default(null),
  })
  .meta({ id: 'ValidateRequest', description: 'A listing as it would be published; no signature' })

export const validation = z
  .object({
    valid: z.boolean(),
    listing_id: z.string(),
    offer_resource_type: z.enum(['compute', 'token']).nullable(),
    accepted_escrows_count: z.int(),
    errors: z.array(z.string()).describe('path: message, sorted by path'),
  })
  .meta({ id: 'Validation' })

const { max_duration_seconds, demands, ...before } = validateRequest.shape
const plainForm = z.object(validateRequest.shape)
const signedForm = z.object({
  ...before,
  settlement_options: objects.default([]),
  demands,
  max_duration_seconds,
})

/** @throws EntrepotError `invalid` for members of another type */
export function validateListing(body: JsonBody, check: ShapeCheck): z.infer<typeof validation> {
  return validated(parsed(plainForm, body.value), isTooLarge(body.bytes, isPlainName), check)
}

/** The members that the signed line hashes, filled in. @throws EntrepotError `invalid` as above */
export const validatedForm = (value: JsonObject): z.infer<typeof signedForm> => parsed(signedForm, value)

export function validateSigned({ bytes, value }: JsonBody, check: ShapeCheck) {
  const { settlement_options, ...form } = validatedForm(value)
  const candidate = { ...form, ...(settlement_options.length > 0 && { settlement_options }) }
  const { errors, ...counts } = validated(candidate, isTooLarge(bytes, isFieldName), check)
  return { ...counts, settlement_options_count: settlement_options.length, errors }
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: JsonObject): z.infer<Schema> {
  const request = schema.safeParse(value)
  if (!request.success) throw invalidBody(request.error)
  return request.data
}

function validated(
  candidate: Candidate & Pick<z.infer<typeof validateRequest>, 'offer_resource' | 'accepted_escrows'>,
  isLarge: boolean,
  check: ShapeCheck,
): z.infer<typeof validation> {
  if (!isLarge) requireTypes(candidate)
  const violations = isLarge ? listingTooLarge().errors : check(candidate)
  return {
    valid: violations.length === 0,
    listing_id: candidate.listing_id,
    offer_resource_type: resourceType(candidate.offer_resource),
    accepted_escrows_count: candidate.accepted_escrows.length,
    errors: violations.map(({ path, message }) => `${path}: ${message}`),
  }
}

/** Before the shape, of which a large listing can have a violation for every two bytes. */
function isTooLarge(body: Uint8Array, isName: (name: string) => boolean): boolean {
  const fields = objectMembers(body).filter(({ name }) => isName(name))
  const sizes = new Map(fields.map(({ name, value }) => [name, value.end - value.start]))
  return [...sizes.values()].reduce((sum, size) => sum + size, 0) > MAX_LISTING_BYTES
}

function resourceType(offer: JsonObject): 'compute' | 'token' | null {
  if (Object.hasOwn(offer, 'gpu_model') || Object.hasOwn(offer, 'region')) return 'compute'
  return Object.hasOwn(offer, 'token') ? 'token' : null
}
