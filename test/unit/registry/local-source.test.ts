import test from 'ava'
import { systemClock } from '../../../src/domain/clock.ts'
import { FULL_RANGE } from '../../../src/domain/source/reading.ts'
import { readFilterSpec } from '../../../src/filter-spec/load.ts'
import { localSource } from '../../../src/registry/local-source.ts'
import { Replica } from '../../../src/registry/replica.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { filterOf } from '../../helpers/specs.ts'
import { filtered, listingQuery } from '../../helpers/upstream.ts'
import { VOCABULARY } from '../../helpers/vocabulary.ts'

const SPEC = readFilterSpec('config/filter-spec.yaml')
const entry = (n: number) => {
  const bytes = Buffer.from(JSON.stringify({ listing_id: `l${n}`, offer_resource: { zone: 'x' } }))
  return { listingId: `l${n}`, publisherId: 1, status: 'open', createdAt: n, bytes } as const
}

async function openLocal(count: number) {
  const store = openSqliteStore(':memory:')
  const replica = await Replica.open(store, {
    filters: [...SPEC.filters.values()],
    vocabulary: VOCABULARY,
    onFault: () => {},
  })
  const entries = Array.from({ length: count }, (_, n) => entry(n))
  for (const _step of replica.projection.listings.load(entries));
  return {
    replica,
    source: localSource({ name: 'local', clock: systemClock }, replica, SPEC.filters.values()),
  }
}

test('local source: what a scan found is not current once a listing was put meanwhile', async (t) => {
  const { replica, source } = await openLocal(1200)
  const query = listingQuery(filtered([filterOf('zone')], ['zone', 'x']))
  let at = 1200
  const { signal } = new AbortController()
  for (const ask of [
    () => source.read({ ...query }, FULL_RANGE, signal),
    () => source.select({ ...query }, signal),
  ]) {
    const pending = ask()
    replica.projection.listings.put(entry(at++))
    const { isCurrent, total } = await pending
    t.is(isCurrent?.(), false)
    t.true(total >= 1200)
  }
})

test('local source: among open listings no other one is selected', async (t) => {
  const { replica, source } = await openLocal(2)
  replica.projection.listings.put({ ...entry(1), status: 'closed' })
  const { items, total } = await source.select(listingQuery(), new AbortController().signal)
  t.deepEqual([total, Array.from(items(), ({ listingId }) => listingId)], [1, ['l0']])
})

test('local source: copies of any status are held by id, and changes are reported in their turn', async (t) => {
  const { replica, source } = await openLocal(2)
  const { projection } = replica
  const { held } = source
  const changes: [ids: string[], seen: unknown][] = []
  const seen = (id: string) => held.find(id).map(({ key, item }) => [key, item.storefrontUrl])
  const end = held.onChange((ids) => void changes.push([[...ids], [...ids].map(seen)]))
  projection.listings.put({ ...entry(1), status: 'closed' })
  t.is(held.find('l1').length, 1)
  t.deepEqual([...held.ids()].sort(), ['l0', 'l1'])
  const publisher = {
    publisherId: 1,
    scheme: 'eip191',
    identifier: `0x${'1'.repeat(40)}`,
    storefrontUrl: 'https://a.example',
  }
  projection.apply({
    kind: 'publisher',
    publisher: { ...publisher, createdAt: 0, updatedAt: 0, rotations: [] },
  })
  projection.apply({ kind: 'listing_removed', listingId: 'l0' })
  end()
  projection.apply({ kind: 'listing_removed', listingId: 'l1' })
  const both = changes[0]![0].toSorted()
  t.deepEqual(both, ['l0', 'l1'])
  t.deepEqual(
    changes[0]![1],
    changes[0]![0].map((id) => [[id, 'https://a.example']]),
  )
  t.deepEqual(changes.slice(1), [[['l0'], [[]]]])
})
