import test from 'ava'
import { FacetCounter } from '../../../../src/domain/source/facet-counter.ts'
import type { JsonValue } from '../../../../src/json/value.ts'
import { byBasis } from '../../../helpers/grouping.ts'
import { filterOf } from '../../../helpers/specs.ts'

const FIELDS = [
  filterOf('gpu_model'),
  filterOf('static_ip', { value_type: 'boolean' }),
  filterOf('sla', { value_type: 'number' }),
  filterOf('token', { path: '$.accepted_escrows[*].literal_fields.token' }),
]

function listing(
  offer: { [name: string]: JsonValue },
  ...rates: [token: string, value: string, per: string][]
): JsonValue {
  const escrows = rates.map(([token, value, per]) => ({
    chain_name: 'base',
    literal_fields: { token },
    rates: [{ field: 'amount', value, per }],
  }))
  return { offer_resource: offer, accepted_escrows: escrows }
}

test('facets: a listing counts once per different value, and once per token and unit at its lowest price', (t) => {
  const counter = new FacetCounter(FIELDS, byBasis('gpu'))
  counter.add(
    listing(
      { gpu_model: 'H200', gpu_count: 8, static_ip: true, sla: 99.0 },
      ['0xa', '800', 'hour'],
      ['0xa', '24', 'day'],
    ),
  )
  counter.add(
    listing(
      { gpu_model: 'H200', gpu_count: 1, static_ip: false, sla: 99 },
      ['0xb', '5', 'hour'],
      ['0xa', '1', 'hour'],
    ),
  )
  counter.add(listing({ gpu_model: null, gpu_count: 0, static_ip: 'yes', sla: [1] }, ['0xa', '3', 'hour']))
  const { values, missing, prices } = counter.facets
  t.deepEqual(
    values.map((counts) => Object.fromEntries(counts)),
    [{ H200: 2 }, { true: 1, false: 1, yes: 1 }, { 99: 2 }, { '0xa': 3, '0xb': 1 }],
  )
  t.deepEqual(missing, [1, 0, 0, 0])
  const hour = (per: number) => per * 168 * 1024 * 1024
  t.deepEqual(Object.fromEntries(prices), {
    'base\n0xa\nhour': { offers: 2, gpus: 9, keys: [hour(1 / 8), hour(1)], counts: [1, 1] },
    'base\n0xb\nhour': { offers: 1, gpus: 1, keys: [hour(5)], counts: [1] },
    'base\n0xa\nhour\noffer': { offers: 1, gpus: 0, keys: [hour(3)], counts: [1] },
  })
})
