import test from 'ava'
import { FacetCounter } from '../../../../src/domain/source/facet-counter.ts'
import { byBasis } from '../../../helpers/grouping.ts'

const listing = (gpu_count: number, ...values: string[]) => ({
  offer_resource: { gpu_count },
  accepted_escrows: values.map((value) => ({
    chain_name: 'base',
    literal_fields: { token: '0xa' },
    rates: [{ field: 'amount', value, per: 'hour' }],
  })),
})

test('facets: a listing counts once per token and unit, at its lowest price, and one without GPUs by itself', (t) => {
  const counter = new FacetCounter([], byBasis('gpu'))
  for (const one of [listing(8, '800', '8'), listing(1, '1'), listing(0, '3')]) counter.add(one)
  const hour = (per: number) => per * 168 * 1024 * 1024
  t.deepEqual(Object.fromEntries(counter.facets.prices), {
    'base\n0xa\nhour': { offers: 2, gpus: 9, keys: [hour(1)], counts: [2] },
    'base\n0xa\nhour\noffer': { offers: 1, gpus: 0, keys: [hour(3)], counts: [1] },
  })
})
