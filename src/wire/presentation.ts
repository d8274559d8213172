import { z } from 'zod'
import { VERSIONED_SCHEMA } from '../filter-spec/schema-id.ts'

/** `null` where neither the listing nor its storefront states it. */
const text = z.string().min(1).nullable()
const decimal = z.string().regex(/^\d+(\.\d+)?$/)
const money = z.object({ decimal, currency: z.string(), display: z.string().describe('`2.10 USDC`') })
const quantity = z.object({ decimal, unit: z.string(), display: z.string().describe('`7 days`') })
const STATUSES = ['complete', 'current', 'not-started', 'not-applicable'] as const
const step = z.object({ status: z.enum(STATUSES), label: z.string() })

const negotiationEntry = z
  .object({
    stage: z.enum(['advertised', 'buyer-proposed', 'seller-countered', 'agreed']),
    status: z.enum(['shown', 'not-applicable']),
    actor: z.enum(['seller', 'buyer']).nullable(),
    round: z.int().nullable(),
    signature: text.describe('Listings do not hold one'),
    occurred_at: z.iso.datetime().nullable(),
    amount: money.nullable(),
  })
  .describe('A stage that is not-applicable has null in the other members')

const LIFECYCLE = [
  'advertised',
  'proposed',
  'countered',
  'agreed',
  'settled',
  'fulfilled',
  'resolved',
] as const

const recordOf = <Kind extends string, Resource extends z.ZodType>(kind: Kind, resource: Resource) =>
  z.object({
    market_data: z.boolean().describe('A listing of a Registry, not an example'),
    listing_id: z.string(),
    seller: text.describe('As the storefront names itself, else the publisher'),
    publisher: text.describe('The key that signed'),
    storefront: text.describe('Its URL'),
    registry: z.string().describe('The one whose copy this is'),
    kind: z.literal(kind),
    published_at: z.iso.datetime().nullable(),
    domain: z.literal(kind),
    schema: z.string().regex(VERSIONED_SCHEMA),
    location: text.describe('The region of a machine, the base URL of an API'),
    availability: z.object({
      asserted_by: z.literal('seller'),
      state: z.literal('asserted-available').nullable().describe('Null: closed or paused'),
    }),
    pricing: z.object({
      mode: z.enum(['configured-negotiation', 'listed']).describe('Listed: accepted as it is'),
      advertised_rate: money.nullable().describe('The lowest; of one GPU where the listing counts them'),
      advertised_unit: text.describe('`GPU·h`, `credit`'),
      quantity: quantity.nullable().describe('GPUs, else the unit of the rate'),
      duration: quantity.nullable().describe('The longest one'),
      constraints: z.array(z.string()),
    }),
    negotiation: z.array(negotiationEntry).describe('Only the advertisement is public'),
    settlement: z
      .object({ asset_class: text, network: text, mechanism: text })
      .describe('Of the first terms'),
    lifecycle: z.record(z.enum(LIFECYCLE), step).describe('Discovery sees the first step alone'),
    delivery: z.object({
      modality: z.string(),
      capacity: step,
      fulfillment: step,
      credential: step,
      service: step,
    }),
    resource,
  })

/**
 * How the data of a listing is presented with its negotiation, settlement and delivery, as a buyer sees them before a deal:
 * docs/protocol.md#11-storefronts. No Registry returns it.
 */
export const presentationRecord = z.discriminatedUnion('kind', [
  recordOf(
    'virtual-machine',
    z.object({ hardware: text, compute: text, memory: text, network: text, access: text }),
  ),
  recordOf(
    'api-credits',
    z.object({
      service: text.describe('What the credential is valid for'),
      model: text.describe('Metadata of the seller: no member of a listing, and no filter'),
      quota: text.describe('The prepaid balance'),
      access: text,
      metering: text.describe('What draws from the balance'),
    }),
  ),
])

export type PresentationRecord = z.infer<typeof presentationRecord>
export type PresentedQuantity = z.infer<typeof quantity>
export type PresentedStep = z.infer<typeof step>
