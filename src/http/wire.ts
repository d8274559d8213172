import { z } from 'zod'
import { LISTING_STATUSES } from '../domain/listing.ts'

/** Response schemas for `openapi.json`. A test checks every answer against them. */

export const timestamp = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}$/)
  .describe('UTC, without a suffix')

export const status = z.enum(LISTING_STATUSES)

export const violation = z
  .object({ path: z.string(), message: z.string() })
  .meta({ id: 'Violation', description: 'One thing that is wrong: where and what' })

export const listing = z
  .looseObject({
    listing_id: z.string(),
    publisher_id: z.int(),
    storefront_url: z.string().nullable(),
    offer_resource: z.unknown().describe('An object by the listing shape of the filter spec'),
    accepted_escrows: z.unknown().describe('An array of escrows by the listing shape'),
    demands: z.unknown().describe('An array'),
    max_duration_seconds: z.unknown().describe('An integer or null'),
    oracle_address: z.unknown().describe('A string or null'),
    status,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Listing', description: 'Published members come back with the bytes that were published' })

export const envelope = z
  .looseObject({
    items: z.array(listing),
    count: z.int().describe('Items on this page'),
    total_after_filter: z.int().describe('Matches before paging'),
  })
  .meta({ id: 'ListingEnvelope' })

export const publisher = z
  .object({
    publisher_id: z.int(),
    storefront_url: z.string().nullable(),
    identities: z.array(z.object({ scheme: z.string(), identifier: z.string() })),
    created_at: timestamp,
  })
  .meta({ id: 'Publisher' })

export const problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    errors: z.array(violation).optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457' })
