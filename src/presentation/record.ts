import { z } from 'zod'

/**
 * The review-projection records of `spec.md` 2.5, both kinds. A text that is not known is `null`: a record says
 * nothing that its listing and its storefront do not show.
 */
const text = z.string().min(1)
const known = text.nullable()

export const money = z.strictObject({
  decimal: z.string().regex(/^\d+(\.\d+)?$/),
  currency: text,
  display: text,
})
export const quantity = z.strictObject({
  decimal: z.string().regex(/^\d+(\.\d+)?$/),
  unit: text,
  display: text,
})

export const STEP_STATUSES = ['complete', 'current', 'not-started', 'not-applicable'] as const
export const step = z.strictObject({ status: z.enum(STEP_STATUSES), label: text })

export const NEGOTIATION_STAGES = ['advertised', 'buyer-proposed', 'seller-countered', 'agreed'] as const
const stage = z.enum(NEGOTIATION_STAGES)
const timestamp = z.iso.datetime({ precision: null })

export const negotiationEntry = z.discriminatedUnion('status', [
  z.strictObject({
    stage,
    status: z.literal('shown'),
    actor: z.enum(['seller', 'buyer']).nullable(),
    round: z.int().nullable(),
    signature: known,
    occurred_at: timestamp.nullable(),
    amount: money.nullable(),
  }),
  z.strictObject({
    stage,
    status: z.literal('not-applicable'),
    actor: z.null(),
    round: z.null(),
    signature: z.null(),
    occurred_at: z.null(),
    amount: z.null(),
  }),
])

const LIFECYCLE = [
  'advertised',
  'proposed',
  'countered',
  'agreed',
  'settled',
  'fulfilled',
  'resolved',
] as const
export type LifecycleStep = (typeof LIFECYCLE)[number]

const common = {
  market_data: z.boolean(),
  listing_id: text,
  seller: known,
  publisher: text,
  storefront: known,
  registry: text,
  published_at: timestamp,
  schema: z.string().regex(/^[a-z0-9-]+\.compute\.[a-z0-9-]+@\d+\.\d+\.\d+$/),
  location: known,
  availability: z.strictObject({
    asserted_by: z.literal('seller'),
    state: z.literal('asserted-available').nullable(),
  }),
  pricing: z.strictObject({
    mode: z.enum(['configured-negotiation', 'listed']),
    advertised_rate: money.nullable(),
    advertised_unit: known,
    quantity: quantity.nullable(),
    duration: quantity.nullable(),
    constraints: z.array(text),
  }),
  negotiation: z.array(negotiationEntry),
  settlement: z.strictObject({ asset_class: known, network: known, mechanism: known }),
  lifecycle: z.strictObject({
    advertised: step,
    proposed: step,
    countered: step,
    agreed: step,
    settled: step,
    fulfilled: step,
    resolved: step,
  }),
  delivery: z.strictObject({
    modality: text,
    capacity: step,
    fulfillment: step,
    credential: step,
    service: step,
  }),
}

export const virtualMachineRecord = z.strictObject({
  ...common,
  kind: z.literal('virtual-machine'),
  domain: z.literal('virtual-machine'),
  resource: z.strictObject({ hardware: known, compute: known, memory: known, network: known, access: known }),
})

export const apiCreditsRecord = z.strictObject({
  ...common,
  kind: z.literal('api-credits'),
  domain: z.literal('api-credits'),
  resource: z.strictObject({ service: known, model: known, quota: known, access: known, metering: known }),
})

export const presentationRecord = z.discriminatedUnion('kind', [virtualMachineRecord, apiCreditsRecord])

export type PresentationRecord = z.infer<typeof presentationRecord>
export type VirtualMachineRecord = z.infer<typeof virtualMachineRecord>
export type ApiCreditsRecord = z.infer<typeof apiCreditsRecord>
export type Kind = PresentationRecord['kind']
export type Money = z.infer<typeof money>
export type Quantity = z.infer<typeof quantity>
export type Step = z.infer<typeof step>
export type NegotiationEntry = z.infer<typeof negotiationEntry>
