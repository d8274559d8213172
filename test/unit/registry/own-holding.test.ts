import test from 'ava'
import { systemClock } from '../../../src/domain/clock.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import { ownHolding } from '../../../src/registry/own-holding.ts'
import { Replica } from '../../../src/registry/replica.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { NAME } from '../../helpers/one-source.ts'
import { run } from '../../helpers/steps.ts'
import { listingQuery } from '../../helpers/upstream.ts'
import { VOCABULARY } from '../../helpers/vocabulary.ts'

async function openLocal() {
  const store = openSqliteStore(':memory:')
  const index = new CopyIndex([])
  const replica = await Replica.open(store, { index, name: NAME, vocabulary: VOCABULARY, onFault: () => {} })
  const { source: number } = replica.projection
  const row = (n: number) => {
    const bytes = Buffer.from(JSON.stringify({ listing_id: `l${n}` }))
    return { key: `l${n}`, seller: 1, status: 'open', position: n, bytes } as const
  }
  run(index.load(number, [row(0), row(1)]))
  return { index, row, projection: replica.projection, source: ownHolding(NAME, replica, systemClock) }
}

test('own holding: copies of any status are held by id, and changes are reported in their turn', async (t) => {
  const { index, row, projection, source } = await openLocal()
  t.is(source.answer(listingQuery()).source, projection.source)
  index.put(projection.source, { ...row(1), status: 'closed' })
  const { copies } = await source.find({ listingId: 'l1' }, new AbortController().signal)
  t.deepEqual(
    copies.map(({ listingId }) => listingId),
    ['l1'],
  )
  const identity = { publisherId: 1, scheme: 'eip191', identifier: `0x${'1'.repeat(40)}` }
  const move = (storefrontUrl: string) => {
    const publisher = { ...identity, storefrontUrl, createdAt: 0, updatedAt: 0, rotations: [] }
    projection.apply({ kind: 'publisher', publisher })
  }
  move('https://before.example')
  const changes: [id: string, storefronts: unknown][][] = []
  const seen = (id: string) => index.copiesOf(id).map(({ storefrontUrl }) => storefrontUrl)
  const end = index.onTouched((ids) => void changes.push(ids.toSorted().map((id) => [id, seen(id)])))
  move('https://a.example')
  projection.apply({ kind: 'listing_removed', listingId: 'l0' })
  end()
  projection.apply({ kind: 'listing_removed', listingId: 'l1' })
  t.deepEqual(changes, [
    [
      ['l0', ['https://a.example']],
      ['l1', ['https://a.example']],
    ],
    [['l0', []]],
  ])
})
