import { z } from 'zod'
import { LISTING_STATUSES } from '../domain/listing.ts'
import { PRICE_PERS } from '../domain/price/price-key.ts'
import { privateSourcesSchema, suggestionsSchema, unplacedSchema } from './facets.ts'
import { violationSchema } from './problem.ts'
import { sourceReportSchema, sourcesCountedSchema } from './source.ts'
import { wireTimestamp } from './time.ts'

export const listingStatusSchema = z.enum(LISTING_STATUSES)

const itemPriceSchema = z
  .object({
    chain: z.string(),
    token: z.string().describe('Address, lower-case'),
    symbol: z.string().optional().describe("Only for tokens of the operator's file"),
    decimals: z.int().optional().describe('With `symbol`'),
    testnet: z.boolean().optional().describe('Of a test network: worth nothing'),
    outlier: z
      .literal(true)
      .optional()
      .describe(
        'Below 1 % of the lower median of its model in this symbol and unit, over five publishers or more',
      ),
    value: z.string().describe('Base units per `per`, as published'),
    per: z.string().describe('As published'),
    unit: z.string().describe('`hour` for every unit of time, else `per`'),
    gpus: z.int().nullable().describe('`null` for a count that cannot be'),
    price_per: z.enum(PRICE_PERS),
    amount: z
      .string()
      .describe('In whole tokens, per `unit` and `price_per`, rounded up; base units without `symbol`'),
  })
  .meta({ id: 'ItemPrice', description: 'What a listing costs' })

const BY_SHAPE = 'By the listing shape; a Registry that only warns of the shape may serve other values'

export const listingSchema = z
  .looseObject({
    listing_id: z.string(),
    publisher_id: z.int(),
    storefront_url: z.string().nullable(),
    offer_resource: z.unknown().describe(BY_SHAPE),
    accepted_escrows: z.unknown().describe(BY_SHAPE),
    demands: z.unknown().describe('An array'),
    max_duration_seconds: z.unknown().describe('An integer or null'),
    oracle_address: z.unknown().describe('A string or null'),
    status: listingStatusSchema,
    created_at: wireTimestamp,
    updated_at: wireTimestamp,
    _meta: z
      .object({ price: itemPriceSchema })
      .optional()
      .describe('With `sort=price` or `price_max`; absent where there is no price'),
  })
  .meta({ id: 'Listing', description: 'Published members have the bytes that were published' })

export const envelopeSchema = z
  .looseObject({
    items: z.array(listingSchema),
    count: z.int().describe('Items on this page'),
    total_after_filter: z.int().describe('Matches before paging'),
    unplaced: unplacedSchema,
  })
  .meta({ id: 'ListingEnvelope' })

export const publisherSchema = z
  .object({
    publisher_id: z.int(),
    storefront_url: z.string().nullable(),
    identities: z.array(z.object({ scheme: z.string(), identifier: z.string() })),
    created_at: wireTimestamp,
  })
  .meta({ id: 'Publisher' })

export const publishReceiptSchema = z
  .object({
    listing_id: z.string(),
    publisher_id: z.int(),
    status: listingStatusSchema,
    created_at: wireTimestamp,
    updated_at: wireTimestamp,
    warnings: z.array(violationSchema).optional().describe('Members that do not fit the listing shape'),
  })
  .meta({ id: 'PublishReceipt' })

export const updateReceiptSchema = publishReceiptSchema
  .pick({ listing_id: true, status: true, updated_at: true })
  .meta({ id: 'UpdateReceipt' })

const provenance = z
  .looseObject({
    registry: z.string().describe('The source whose copy this is'),
    publisher: z.string().optional().describe('Signing address, where it is known'),
    publisher_aliases: z
      .array(z.string())
      .optional()
      .describe('Other keys of the publisher, by which it is found too: its first key comes first'),
    also_in: z.array(z.string()),
    stale: z.boolean(),
    label: z.string().optional().describe('What the operator of this gateway says of the source'),
    differs: z.boolean().optional(),
    conflict: z.boolean().optional(),
    disputed: z
      .array(z.string())
      .optional()
      .describe('Better sources that have this publisher at another storefront'),
    unchecked: z
      .array(z.string())
      .optional()
      .describe('Better sources that could not be asked whether they have the listing'),
    not_in: z
      .array(z.string())
      .optional()
      .describe('Better sources that know the publisher and do not have the listing'),
    via: z
      .array(z.string())
      .optional()
      .describe(
        'Ids of the gateways that it came through, at most three; only for a request with `CDN-Loop`',
      ),
    gpu: z
      .object({
        model: z.string().optional(),
        variant: z.string().optional(),
        memory_gb: z
          .union([z.number(), z.array(z.number())])
          .optional()
          .describe('Of one GPU; a list where several are left'),
      })
      .optional()
      .describe('As this gateway reads it, whatever the spelling; members that are not known are absent'),
    place: z
      .object({ country: z.string().optional(), continent: z.string().optional() })
      .optional()
      .describe('ISO 3166-1 alpha-2; AF AN AS EU NA OC SA'),
    age_seconds: z.int().optional().describe('Of the copy; only in answers for one id'),
    price: itemPriceSchema
      .optional()
      .describe(
        'The price that was compared, else the lowest per GPU in the currency that leads; absent without a price',
      ),
  })
  .meta({ id: 'Provenance' })

export const mergedListingSchema = listingSchema
  .partial()
  .extend({
    listing_id: z.string(),
    status: z.string().optional(),
    created_at: z.string().describe('ISO 8601; UTC where it has no offset'),
    updated_at: z.string().optional(),
    _meta: provenance,
  })
  .meta({ id: 'MergedListing', description: "The bytes of the listing's own Registry, and `_meta`" })

export const mergedEnvelopeSchema = envelopeSchema
  .extend({
    items: z.array(mergedListingSchema),
    complete: z
      .boolean()
      .describe(
        'Every visible source answered, fresh or stale, and none reported its own answer as incomplete',
      ),
    unchecked: z.int().optional().describe('Items with `_meta.unchecked`; absent for none'),
    suggestions: suggestionsSchema,
    warnings: z
      .array(violationSchema)
      .optional()
      .describe('Parameters that do not count as they are given; absent without any'),
    near_misses: z
      .array(
        z.object({
          differs: z.object({
            filter: z.string().describe('Or `price_max`'),
            wanted: z.string(),
            has: z
              .union([z.string(), z.number()])
              .nullable()
              .describe('What the listing has; `null` where it does not say'),
          }),
          listing: mergedListingSchema,
        }),
      )
      .optional()
      .describe('Where nothing matches: at most three listings, each of which differs in one thing'),
    private_sources: privateSourcesSchema,
    sources: z.array(sourceReportSchema),
    sources_counted: sourcesCountedSchema,
    next_cursor: z.string().optional().describe('Present if there are more listings'),
  })
  .meta({ id: 'MergedEnvelope' })

export type ItemPrice = z.infer<typeof itemPriceSchema>
export type ProvenanceJson = z.infer<typeof provenance>
export type PublishReceiptJson = z.infer<typeof publishReceiptSchema>
export type UpdateReceiptJson = z.infer<typeof updateReceiptSchema>
