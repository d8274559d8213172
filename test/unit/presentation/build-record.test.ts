import test from 'ava'
import { API_CREDIT_EXAMPLES, VM_EXAMPLES } from '../../../demo/offers.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../../src/json/value.ts'
import { buildRecord, UnpresentableError } from '../../../src/presentation/build-record.ts'
import { NO_STOREFRONT_ANSWER, type StorefrontView } from '../../../src/presentation/observation.ts'
import { presentationRecord } from '../../../src/presentation/record.ts'

const PUBLISHER = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc'

function served(offer: object, more: object = {}): JsonObject {
  const row = {
    publisher_id: 1,
    oracle_address: null,
    status: 'open',
    created_at: '2026-11-20T15:33:44.792803',
    ...offer,
    ...more,
  }
  const value = parseJson(JSON.stringify(row))
  return isJsonObject(value) ? value : {}
}

const recordOf = (
  listing: JsonObject,
  view: StorefrontView = NO_STOREFRONT_ANSWER,
  publisher: string | null = PUBLISHER,
) => presentationRecord.parse(buildRecord({ listing, registry: 'http://registry.example', publisher }, view))

const shown = (status: JsonObject, listing: JsonObject = {}): StorefrontView => ({ status, listing })

test('record: every example listing has the members of its kind in order', (t) => {
  for (const offer of [...VM_EXAMPLES, ...API_CREDIT_EXAMPLES]) {
    const record = recordOf(served(offer))
    t.is(record.kind, VM_EXAMPLES.includes(offer) ? 'virtual-machine' : 'api-credits')
    t.is(record.domain, record.kind)
    t.deepEqual(Object.keys(record).slice(0, 10), [
      'market_data',
      'listing_id',
      'seller',
      'publisher',
      'storefront',
      'registry',
      'kind',
      'published_at',
      'domain',
      'schema',
    ])
    t.deepEqual(record.availability, { asserted_by: 'seller', state: 'asserted-available' })
    t.is(record.published_at, '2026-11-20T15:33:44.792803Z')
  }
})

test('record: a virtual machine is an SSH lease', (t) => {
  const record = recordOf(served(VM_EXAMPLES[0]!))
  t.is(record.delivery.modality, 'SSH lease')
  t.deepEqual(record.pricing.advertised_rate, {
    decimal: '16800000',
    currency: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    display: '16800000 base units of 0x036cbd53842c5426634e7929541ec2318f3dcf7e per hour',
  })
  t.is(record.pricing.advertised_unit, 'hour')
  t.deepEqual(record.pricing.quantity, { decimal: '8', unit: 'gpu', display: '8 × H200' })
  t.is(record.pricing.duration?.decimal, '604800')
  t.deepEqual(record.settlement, {
    asset_class: 'ERC-20 token',
    network: 'base_sepolia',
    mechanism: 'on-chain escrow 0x2b5ad5c4795c026514f8317c7a215e218dccd6cf',
  })
  t.is(record.location, 'California, US')
})

test('record: API credits are a bearer credential without capacity or model', (t) => {
  const record = recordOf(served(API_CREDIT_EXAMPLES[0]!, { model: 'm' }))
  t.true('model' in record.resource && record.resource.model === null)
  t.is(record.delivery.capacity.status, 'not-applicable')
  t.regex(record.delivery.modality, /bearer credential/)
  t.is(record.pricing.duration, null)
  t.regex(record.pricing.advertised_rate?.display ?? '', /^1 base unit of 0x\w+ per /)
})

test('record: a negotiation shows the advertisement only', (t) => {
  const { negotiation, lifecycle } = recordOf(served(VM_EXAMPLES[0]!))
  t.deepEqual(
    negotiation.map(({ stage, status }) => [stage, status]),
    [
      ['advertised', 'shown'],
      ['buyer-proposed', 'not-applicable'],
      ['seller-countered', 'not-applicable'],
      ['agreed', 'not-applicable'],
    ],
  )
  for (const { actor, round, signature, occurred_at, amount } of negotiation.slice(1))
    t.deepEqual([actor, round, signature, occurred_at, amount], [null, null, null, null, null])
  t.is(lifecycle.advertised.status, 'current')
  t.is(lifecycle.settled.status, 'not-started')
})

test('record: unknown members are null, and capacity is not-started', (t) => {
  const record = recordOf(
    served({ listing_id: 'bare', offer_resource: { gpu_model: 'H100' } }),
    NO_STOREFRONT_ANSWER,
    null,
  )
  t.is(record.seller, null)
  t.is(record.publisher, '1')
  t.is(record.storefront, null)
  t.is(record.location, null)
  t.is(record.pricing.advertised_rate, null)
  t.is(record.pricing.quantity, null)
  t.is(record.pricing.mode, 'configured-negotiation')
  t.deepEqual(record.settlement, { asset_class: null, network: null, mechanism: null })
  t.is(record.delivery.capacity.status, 'not-started')
})

test("record: a storefront's answers fill seller, capacity, strategy and paused", (t) => {
  const listing = served(VM_EXAMPLES[0]!)
  const view = shown({
    agent_id: '0xseller',
    resource_count: 2,
    checks: { negotiation_strategy: 'chain[3] (count=3)' },
  })
  const record = recordOf(listing, view)
  t.is(record.seller, '0xseller')
  t.is(record.delivery.capacity.status, 'complete')
  t.is(record.pricing.mode, 'configured-negotiation')
  t.is(record.lifecycle.countered.status, 'not-started')
  t.is(recordOf(listing).lifecycle.countered.status, 'not-applicable')
  for (const paused of [
    shown({ paused: true }),
    shown({}, { paused: true }),
    shown({}, { status: 'closed' }),
  ])
    t.is(recordOf(listing, paused).availability.state, null)
  t.is(recordOf(served(VM_EXAMPLES[0]!, { status: 'closed' })).availability.state, null)
})

test('record: hostile members never break it', (t) => {
  for (const nonsense of [7, 'text', true, [], {}, [[]], { a: [1] }])
    for (const name of [
      'accepted_escrows',
      'demands',
      'max_duration_seconds',
      'oracle_address',
      'storefront_url',
    ])
      t.notThrows(() =>
        recordOf(
          served(
            { listing_id: 'x', offer_resource: { gpu_model: 'L4', gpu_count: nonsense } },
            { [name]: nonsense },
          ),
        ),
      )
})

test('record: a listing of neither kind or without an id has none', (t) => {
  t.throws(() => recordOf(served({ offer_resource: { gpu_model: 'H100' } })), {
    instanceOf: UnpresentableError,
    message: 'it has no listing_id',
  })
  t.throws(() => recordOf(served({ listing_id: 'x', offer_resource: { colour: 'red' } })), {
    instanceOf: UnpresentableError,
  })
})
