import test from 'ava'
import { SEES_ALL } from '../../../src/domain/reader.ts'
import type { Item } from '../../../src/domain/source/item.ts'
import { EntrepotError } from '../../../src/errors.ts'
import {
  type Counted,
  type MergedFacets,
  REGISTRY_FACET,
  readFacets,
} from '../../../src/gateway/counts/facets.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import { type FakeSource, fakeItem, fakeSource } from '../../helpers/fake-source.ts'
import { MODEL, settingsOver } from '../../helpers/pages.ts'
import { listingQuery } from '../../helpers/upstream.ts'
import { filterOn } from '../listing-index/model.ts'

const TAGS = filterOn('$.tags[*]')

function offerItem(id: string, gpu_model = 'H200'): Item {
  const bytes = Buffer.from(JSON.stringify({ listing_id: id, offer_resource: { gpu_model } }))
  return fakeItem(id, 1, { bytes, publisher: '0xa' })
}

function facetsOver(
  sources: readonly FakeSource[],
  { by = [MODEL, REGISTRY_FACET] }: Partial<Counted> = {},
): Promise<MergedFacets> {
  const settings = settingsOver(sources, { index: new CopyIndex([MODEL, TAGS]) })
  const request = { reader: SEES_ALL, signal: new AbortController().signal, budgetMs: 1000 }
  return readFacets(settings, { query: listingQuery(), request }, { by, per: 'gpu' })
}

test('facets: a gateway counts under the names of its own sources', async (t) => {
  const origin = (registry: string) => ({ registry, alsoIn: [], stale: false, differs: false })
  const eu = fakeSource(
    'eu',
    ['a', 'b', 'c'].map((id, n) => ({ ...offerItem(id), origin: origin(n === 0 ? 'x' : 'y') })),
    { isGateway: true },
  )
  const { facets } = await facetsOver([
    eu,
    fakeSource('us', [offerItem('c'), offerItem('d')], { priority: 0 }),
  ])
  t.deepEqual(facets.registry?.values, [
    { value: 'us', count: 2 },
    { value: 'eu/x', count: 1 },
    { value: 'eu/y', count: 1 },
  ])
})

test('facets: a hundred values at most are named, and a long one never is', async (t) => {
  const items = Array.from({ length: 120 }, (_, n) => offerItem(`l${n}`, `M${String(n).padStart(3, '0')}`))
  const long = [offerItem('x', 'x'.repeat(201)), offerItem('y', 'M119')]
  const { facets } = await facetsOver([fakeSource('s', [...items, ...long])])
  const { values, other } = facets.gpu_model!
  t.is(values.length, 100)
  t.deepEqual(values.slice(0, 2), [
    { value: 'M119', count: 2 },
    { value: 'M000', count: 1 },
  ])
  t.is(other, 21)
})

test('facets: a field with very many values is refused by name', async (t) => {
  const tags = (n: number) => Array.from({ length: 2000 }, (_, m) => n * 2000 + m)
  const items = Array.from({ length: 60 }, (_, n) => {
    const bytes = Buffer.from(JSON.stringify({ listing_id: `l${n}`, tags: tags(n) }))
    return fakeItem(`l${n}`, 1, { bytes })
  })
  const error = await t.throwsAsync(facetsOver([fakeSource('s', items)], { by: [TAGS] }), {
    instanceOf: EntrepotError,
  })
  t.is(error?.status, 400)
  t.is(error?.message, 'by: $.tags[*] have more than 100000 values')
})
