import { formatDuration } from '../../domain/duration.ts'
import { gpuCount, paymentTerms } from '../../domain/price/payment-option.ts'
import { readableAmount, unitName } from '../../domain/price/price-key.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { formatTimestamp, parseTimestamp } from '../../domain/timestamp.ts'
import { VERSIONED_SCHEMA } from '../../filter-spec/schema-id.ts'
import { at, type JsonObject, textAt } from '../../json/value.ts'
import type { PresentationRecord, PresentedQuantity, PresentedStep } from '../../wire/presentation.ts'
import { shownPrice } from './price-text.ts'

/** `storefront`: what it answered; `null` where it does not state it. */
type Presented = Pick<PresentationRecord, 'registry' | 'publisher'> & {
  storefront: { seller: string | null; is_free: boolean | null; negotiates: boolean | null }
  /** Of the filter spec; `null` where it names none. */
  schema: string | null
  tokens: TokenTable
}

/** The record of what is stated. Steps that discovery cannot see have not started. */
export function presentationOf(
  listing: JsonObject,
  { registry, publisher, storefront, schema, tokens }: Presented,
): PresentationRecord {
  const offer: Offer = (name, unit = '') => {
    const text = textAt(listing, 'offer_resource', name)
    return text ? `${text}${unit}` : null
  }
  const rate = rateOf(listing, tokens)
  const mode = storefront.negotiates === true || rate === null ? 'configured-negotiation' : 'listed'
  const micros = parseTimestamp(textAt(listing, 'created_at') ?? '')
  const published_at = micros === null ? null : `${formatTimestamp(micros)}Z`
  const isOpen = listing.status === 'open'
  const amount = rate?.money ?? null
  const duration = durationOf(listing)
  const oracle = textAt(listing, 'oracle_address')
  return {
    market_data: true,
    listing_id: textAt(listing, 'listing_id') ?? '',
    seller: storefront.seller ?? publisher,
    publisher,
    storefront: textAt(listing, 'storefront_url') || null,
    registry,
    published_at,
    availability: {
      asserted_by: 'seller',
      state: isOpen && storefront.is_free !== false ? 'asserted-available' : null,
    },
    pricing: {
      mode,
      advertised_rate: amount,
      advertised_unit: rate?.unit ?? null,
      quantity: quantityOf(gpuCount(listing), rate),
      duration,
      constraints: [duration && `at most ${duration.display}`, oracle && `oracle ${oracle}`].filter(isText),
    },
    negotiation: [
      {
        ...NOTHING,
        stage: 'advertised',
        status: 'shown',
        actor: 'seller',
        occurred_at: published_at,
        amount,
      },
      ...HIDDEN_STAGES.map((stage) => ({ ...NOTHING, stage, status: 'not-applicable' as const })),
    ],
    settlement: settlementOf(listing),
    lifecycle: {
      advertised: { status: isOpen ? 'current' : 'complete', label: textAt(listing, 'status') ?? 'unknown' },
      proposed: UNSEEN,
      countered:
        storefront.negotiates === false
          ? { status: 'not-applicable', label: 'the price is as listed' }
          : UNSEEN,
      agreed: UNSEEN,
      settled: UNSEEN,
      fulfilled: UNSEEN,
      resolved: UNSEEN,
    },
    ...(offer('service_name') !== null ? apiCredits(offer, rate) : virtualMachine(offer, gpuCount(listing))),
    ...(schema !== null && VERSIONED_SCHEMA.test(schema) && { schema }),
  }
}

/** A member of the offer as text, with its unit. */
type Offer = (name: string, unit?: string) => string | null
type Rate = { money: { decimal: string; currency: string; display: string }; unit: string }

function virtualMachine(offer: Offer, gpus: number | null) {
  const model = offer('gpu_model')
  return {
    kind: 'virtual-machine',
    domain: 'virtual-machine',
    schema: 'arkhai.compute.virtual-machine@1.0.0',
    location: offer('region'),
    delivery: { modality: 'SSH lease', ...DELIVERY },
    resource: {
      hardware: joined([gpus === null ? model : `${gpus} × ${model ?? 'GPU'}`, offer('gpu_interconnect')]),
      compute: joined([offer('vcpu_count', ' vCPU'), offer('cpu_type'), offer('virtualization_type')]),
      memory: joined([offer('ram_gb', ' GB RAM'), offer('disk_gb', ' GB disk')]),
      network: joined([
        offer('internet_download_mbps', ' Mbit/s down'),
        offer('nic_speed_gbps', ' Gbit/s NIC'),
      ]),
      access: 'SSH',
    },
  } as const
}

const apiCredits = (offer: Offer, rate: Rate | null) =>
  ({
    kind: 'api-credits',
    domain: 'api-credits',
    schema: 'arkhai.compute.api-credits@1.1.0',
    location: offer('base_url'),
    delivery: {
      modality: 'seller-issued bearer credential',
      ...DELIVERY,
      capacity: { status: 'not-applicable', label: 'no compute is provisioned' },
    },
    resource: {
      service: offer('service_name'),
      model: null,
      quota: offer('resource_id'),
      access: joined([offer('base_url'), offer('openapi_url')]),
      metering: rate === null ? null : `${rate.money.display} per ${rate.unit}`,
    },
  }) as const

/** The lowest price, as tables have it. */
function rateOf(listing: JsonObject, tokens: TokenTable): Rate | null {
  const price = shownPrice(listing, tokens)
  if (price === null) return null
  const { amount: decimal, symbol, token, testnet } = price
  const currency = `${testnet ? 'test ' : ''}${symbol ?? `units of ${token}`}`
  const display = `${readableAmount(decimal, symbol !== null)} ${currency}`
  return { money: { decimal, currency, display }, unit: unitName(price.unit, price.per) }
}

function quantityOf(gpus: number | null, rate: Rate | null): PresentedQuantity | null {
  if (gpus === null)
    return rate === null ? null : { decimal: '1', unit: rate.unit, display: `1 ${rate.unit}` }
  return { decimal: `${gpus}`, unit: 'GPU', display: `${gpus} GPU${gpus === 1 ? '' : 's'}` }
}

function durationOf({ max_duration_seconds: seconds }: JsonObject): PresentedQuantity | null {
  if (typeof seconds !== 'number' || !Number.isSafeInteger(seconds) || seconds < 0) return null
  const display = formatDuration(seconds)
  const [count = '', unit = ''] = display.split(' ')
  return { decimal: count.replaceAll(',', ''), unit: unit.replace(/s$/, ''), display }
}

/** An escrow is on a chain; a settlement option names its mechanism in place of one. */
function settlementOf(listing: JsonObject): PresentationRecord['settlement'] {
  const [terms] = paymentTerms(listing)
  const [chain = null, asset = null, escrow = null] = [terms?.chain, terms?.token, terms?.escrow].map((one) =>
    textAt(one),
  )
  if (at(listing, 'accepted_escrows', 0) === null)
    return { asset_class: asset && 'fiat currency', network: null, mechanism: chain }
  return { asset_class: asset && 'ERC-20 token', network: chain, mechanism: escrow && `escrow ${escrow}` }
}

const HIDDEN_STAGES = ['buyer-proposed', 'seller-countered', 'agreed'] as const
const NOTHING = { actor: null, round: null, signature: null, occurred_at: null, amount: null }
const UNSEEN: PresentedStep = { status: 'not-started', label: 'nothing that discovery sees' }
const DELIVERY = { capacity: UNSEEN, fulfillment: UNSEEN, credential: UNSEEN, service: UNSEEN }

const isText = (part: string | null): part is string => part !== null
const joined = (parts: readonly (string | null)[]): string | null => parts.filter(isText).join(', ') || null
