import { z } from 'zod'

/** docs/protocol.md#11-storefronts-and-presentation-records. Texts that are not shown are `null`. */
const text = z.string().min(1)
const textOrNull = text.nullable()

const decimal = z.string().regex(/^\d+(\.\d+)?$/)
const money = z.strictObject({ decimal, currency: text, display: text })
const quantity = z.strictObject({ decimal, unit: text, display: text })

const STEP_STATUSES = ['complete', 'current', 'not-started', 'not-applicable'] as const
const step = z.strictObject({ status: z.enum(STEP_STATUSES), label: text })

const timestamp = z.iso.datetime({ precision: null })

/** All members of a stage that is `not-applicable` are `null`. */
const negotiationEntry = z.strictObject({
  stage: z.enum(['advertised', 'buyer-proposed', 'seller-countered', 'agreed']),
  status: z.enum(['shown', 'not-applicable']),
  actor: z.enum(['seller', 'buyer']).nullable(),
  round: z.int().nullable(),
  signature: textOrNull,
  occurred_at: timestamp.nullable(),
  amount: money.nullable(),
})

const recordOf = <Name extends string, Resource extends z.ZodType>(kind: Name, resource: Resource) =>
  z.strictObject({
    market_data: z.boolean(),
    listing_id: text,
    seller: textOrNull,
    publisher: text,
    storefront: textOrNull,
    registry: text,
    kind: z.literal(kind),
    published_at: timestamp,
    domain: z.literal(kind),
    schema: z.string().regex(/^[a-z0-9-]+\.compute\.[a-z0-9-]+@\d+\.\d+\.\d+$/),
    location: textOrNull,
    availability: z.strictObject({
      asserted_by: z.literal('seller'),
      state: z.literal('asserted-available').nullable(),
    }),
    pricing,
    negotiation: z.array(negotiationEntry),
    settlement: z.strictObject({ asset_class: textOrNull, network: textOrNull, mechanism: textOrNull }),
    lifecycle,
    delivery,
    resource,
  })

const pricing = z.strictObject({
  mode: z.enum(['configured-negotiation', 'listed']),
  advertised_rate: money.nullable(),
  advertised_unit: textOrNull,
  quantity: quantity.nullable(),
  duration: quantity.nullable(),
  constraints: z.array(text),
})

const LIFECYCLE = [
  'advertised',
  'proposed',
  'countered',
  'agreed',
  'settled',
  'fulfilled',
  'resolved',
] as const
const lifecycle = z.record(z.enum(LIFECYCLE), step)

const delivery = z.strictObject({
  modality: text,
  capacity: step,
  fulfillment: step,
  credential: step,
  service: step,
})

const virtualMachineRecord = recordOf(
  'virtual-machine',
  z.strictObject({
    hardware: textOrNull,
    compute: textOrNull,
    memory: textOrNull,
    network: textOrNull,
    access: textOrNull,
  }),
)

const apiCreditsRecord = recordOf(
  'api-credits',
  z.strictObject({
    service: textOrNull,
    model: textOrNull,
    quota: textOrNull,
    access: textOrNull,
    metering: textOrNull,
  }),
)

export const presentationRecord = z.discriminatedUnion('kind', [virtualMachineRecord, apiCreditsRecord])

export type PresentationRecord = z.infer<typeof presentationRecord>
export type ListingKind = PresentationRecord['kind']
export type Money = z.infer<typeof money>
export type Quantity = z.infer<typeof quantity>
export type LifecycleStep = z.infer<typeof step>
export type NegotiationEntry = z.infer<typeof negotiationEntry>
