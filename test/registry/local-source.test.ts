import test from 'ava'
import { TokenTable } from '../../src/domain/price/token.ts'
import { FULL_RANGE } from '../../src/domain/source/reading.ts'
import { readFilterSpec } from '../../src/filter-spec/load.ts'
import type { RequestContext } from '../../src/http/route.ts'
import { localListingRoutes } from '../../src/http/routes/listings.ts'
import { localSource } from '../../src/registry/local-source.ts'
import { Replica } from '../../src/registry/replica.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { filterOf } from '../helpers/specs.ts'
import { filtered, listingQuery } from '../helpers/upstream.ts'

const SPEC = readFilterSpec('config/filter-spec.yaml')
const USDC = `0x${'a'.repeat(40)}`

const entry = (n: number) => {
  const escrow = {
    chain_name: 'base',
    literal_fields: { token: USDC },
    rates: [{ value: String(n), per: 'hour' }],
  }
  const bytes = Buffer.from(
    JSON.stringify({ listing_id: `l${n}`, offer_resource: { zone: 'x' }, accepted_escrows: [escrow] }),
  )
  return { listingId: `l${n}`, publisherId: 1, status: 'open', createdAt: n, bytes } as const
}

async function openLocal(count: number) {
  const store = openSqliteStore(':memory:')
  const replica = await Replica.open(store, { filters: [...SPEC.filters.values()], onFault: () => {} })
  const entries = Array.from({ length: count }, (_, n) => entry(n))
  for (const _step of replica.projection.listings.load(entries));
  return { replica, source: localSource({ name: 'local', now: () => 0 }, replica, SPEC.filters.values()) }
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

test('local source: among open listings no other one is found', async (t) => {
  const { replica, source } = await openLocal(2)
  replica.projection.listings.put({ ...entry(1), status: 'closed' })
  const { find, total } = await source.read(listingQuery(), FULL_RANGE, new AbortController().signal)
  t.deepEqual([total, find?.('l0').length, find?.('l1').length], [1, 1, 0])
})

test('local source: a far page by price is read in turns of the event loop', async (t) => {
  const { replica, source } = await openLocal(12_000)
  const tokens = new TokenTable([])
  const [list] = localListingRoutes({ spec: SPEC, replica, select: source.select, tokens })
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const idsAt = async (offset: number): Promise<string[]> => {
    const queryString = `sort=price&limit=2&offset=${offset}`
    const request = { queryString, header: () => undefined, signal: new AbortController().signal }
    const { body } = await list!.handle(request as unknown as RequestContext)
    return JSON.parse(String(body)).items.map(({ listing_id }: { listing_id: string }) => listing_id)
  }
  t.deepEqual(await idsAt(11_000), ['l11000', 'l11001'])
  isDone = true
  t.true(turns >= 2)
  t.deepEqual(await idsAt(11_999), ['l11999'])
  t.deepEqual([await idsAt(12_000), await idsAt(2 ** 40)], [[], []])
})
