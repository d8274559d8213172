import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import type { NewBlock } from '../../../../src/domain/block.ts'
import { type CopySource, type CopyTarget, copyStore } from '../../../../src/store/copy.ts'
import { createRedisCopy } from '../../../../src/store/redis/copy.ts'
import { openRedisStore } from '../../../../src/store/redis/open.ts'
import type { Put } from '../../../../src/store/rows.ts'
import { SqliteCopy } from '../../../../src/store/sqlite/copy.ts'
import { openSqliteStore, readSqliteRows } from '../../../../src/store/sqlite/store.ts'
import type { Store } from '../../../../src/store/store.ts'
import { redisStore, startRedisCluster, testRedis } from '../../../helpers/redis.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import {
  BOB,
  freshUse,
  keyNamed,
  loaded,
  published,
  publishOf,
  removeOf,
  updateOf,
} from '../../../helpers/store/subject.ts'

const redis = await testRedis()
const cluster = await startRedisCluster()
test.after.always(() => Promise.all([redis.dispose(), cluster.dispose()]))

/** A place for one store: empty at first. */
type Place = {
  /** As the service does. */
  store: () => Promise<Store>
  source: () => Promise<CopySource>
  target: () => Promise<CopyTarget>
}

function fileAt(t: ExecutionContext, path = join(temporaryFolder(t), 'store.db')): Place {
  return {
    store: async () => {
      const store = openSqliteStore(path)
      t.teardown(() => store.close())
      return store
    },
    source: async () => readSqliteRows(path),
    target: async () => new SqliteCopy(path),
  }
}

function redisAt(t: ExecutionContext, url: string): Place {
  const prefix = `{entrepot-test-${randomUUID()}}:`
  return {
    store: () => redisStore(t, url, { prefix }),
    source: async () => (await openRedisStore(url, { prefix, mustExist: true })).store.rows,
    target: () => createRedisCopy(url, prefix),
  }
}

/** A copy at the place, to which what `puts` leaves is committed. */
const committing =
  ({ target }: Place, puts: (all: readonly Put[]) => Promise<readonly Put[]>) =>
  async (): Promise<CopyTarget> => {
    const copy = await target()
    const commit = copy.rows.commit.bind(copy.rows)
    copy.rows.commit = async (end, all) => commit(end, await puts(all))
    return copy
  }

/** More listings than a page, and two keys. */
async function fill(store: Store): Promise<void> {
  await store.addKey(keyNamed('expiring', { expiresAt: 1_900_000_000_000_000, scope: 'write' }))
  await store.revokeKey((await store.addKey(keyNamed('revoked ü', { view: 'partners' }))).id)
  await published(
    store,
    publishOf('first "ü"', {
      storefrontUrl: 'https://a.example',
      fields: { offerResource: '{ "price":1.50, "ü":"\\u00fc" }', oracleAddress: '"0x1"' },
    }),
  )
  await store.update(updateOf('first "ü"', { status: 'closed' }))
  await Promise.all(Array.from({ length: 1100 }, (_, n) => store.publish(publishOf(`L${n}`))))
}

const BLOCKS: readonly Omit<NewBlock, 'until'>[] = [
  { subject: { kind: 'publisher', publisher: '0xa11ce' }, source: null, reason: 'ticket “812”\n', by: 'ann' },
  { subject: { kind: 'storefront', url: 'https://a.example/shop' }, source: 'eu', reason: 'r', by: 'bob' },
  {
    subject: { kind: 'listing', publisher: '0xa11ce', listingId: 'L7' },
    source: null,
    reason: 'r',
    by: 'ann',
  },
]

/** One of each subject, of which the second has ended. */
async function fillBlocks(store: Store): Promise<void> {
  for (const block of BLOCKS) await store.addBlock({ ...block, until: 1_900_000_000_000_000 })
  await store.endBlock(2)
}

/** What a service does while it is copied. */
async function change(store: Store): Promise<void> {
  await store.endBlock(1)
  await store.addBlock({ ...BLOCKS[0]!, source: 'late', until: null })
  await store.remove(removeOf('L0'))
  await store.remove(removeOf('L1'))
  await published(store, publishOf('L1', { identity: BOB }))
  await store.update(updateOf('L2', { status: 'expired' }))
  await store.addKey(keyNamed('new'))
}

const ACT = {
  by: 'ann',
  keyId: 1,
  publisher: null,
  act: 'reload',
  subject: 'x'.repeat(10),
  client: null,
  result: 'ok',
} as const

const places: Record<string, (t: ExecutionContext) => Place> = {
  SQLite: (t) => fileAt(t),
  Redis: (t) => redisAt(t, redis.url),
  'a Redis Cluster': (t) => redisAt(t, cluster.url),
}

for (const [from, to] of [
  ['SQLite', 'Redis'],
  ['Redis', 'SQLite'],
  ['a Redis Cluster', 'a Redis Cluster'],
] as const)
  test(`copy: ${from} to ${to} has the state of one moment, and its used signatures`, async (t) => {
    const [origin, place] = [places[from]!(t), places[to]!(t)]
    const store = await origin.store()
    await fill(store)
    await fillBlocks(store)
    const ahead = freshUse({ expiresAt: 4_000_000_000_000_000 })
    await published(store, publishOf('signed ahead', { use: ahead }))
    const old = freshUse({ expiresAt: 200, now: 100 })
    await published(store, publishOf('signed long ago', { use: old }))
    await store.remove(removeOf('nothing'))
    for (const kind of ['operator', 'seller', 'operator'] as const)
      await store.appendAudit({ ...ACT, kind }, { maxBytes: 100_000, maxAgeMicros: 60_000_000 })
    let changes: Promise<void> | undefined
    const target = committing(place, async (puts) => {
      changes ??= change(store)
      await changes
      return puts
    })
    const counts = await copyStore(origin.source, target)
    const copy = await place.store()
    const picture = await Picture.of(copy)
    t.deepEqual(picture.sorted(), (await Picture.of(store)).sorted())
    t.deepEqual(
      (await loaded(copy)).changes.filter(({ kind }) => kind === 'listing'),
      (await loaded(store)).changes.filter(({ kind }) => kind === 'listing'),
    )
    t.deepEqual(counts, {
      listings: picture.listings.size,
      publishers: picture.publishers.size,
      keys: picture.keys.size,
      blocks: 4,
    })
    t.deepEqual([...picture.blocks.values()].map(({ id, endedAt }) => [id, endedAt !== null]).sort(), [
      [1, true],
      [2, true],
      [3, false],
      [4, false],
    ])
    t.is([...picture.keys.values()].find(({ name }) => name === 'revoked ü')!.view, 'partners')
    for (const use of [ahead, old])
      t.is(
        (await copy.publish(publishOf('N', { use: { ...use, body: 'another' } }))).outcome,
        'signature_reused',
      )
    const receipt = await published(
      copy,
      publishOf('N', { identity: BOB, use: { ...ahead, signature: 's' } }),
    )
    t.true(receipt.createdAt > Math.max(...[...picture.listings.values()].map(({ updatedAt }) => updatedAt)))
    t.is(receipt.publisherId, 2)
    t.deepEqual(await copy.readAudit(0, 10), await store.readAudit(0, 10))
    await copy.appendAudit({ ...ACT, kind: 'seller' }, { maxBytes: 300, maxAgeMicros: 60_000_000 })
    t.deepEqual(
      (await copy.readAudit(0, 10)).map(({ kind }) => kind),
      ['operator', 'seller'],
      'as large as in the store',
    )
    t.is((await copy.addKey(keyNamed('next'))).id, 4)
    t.is((await copy.addBlock({ ...BLOCKS[0]!, until: null })).id, 5)
  })

for (const to of ['SQLite', 'Redis'])
  test(`copy: ${to} shows no copy that is incomplete, and can be copied to again`, async (t) => {
    const folder = temporaryFolder(t)
    const place = to === 'SQLite' ? fileAt(t, join(folder, 'store.db')) : redisAt(t, redis.url)
    const origin = places.SQLite!(t)
    await fill(await origin.store())
    const losing = committing(place, async (puts) => puts.filter(({ key }) => key !== 'L7'))
    await t.throwsAsync(copyStore(origin.source, losing), {
      message: 'the copy has 1103 rows, the store has 1104; it was deleted',
    })
    await t.throwsAsync(place.source(), { message: /does not exist|has no store/ })

    // As a process that is killed leaves it.
    const abandoned = await place.target()
    const source = await origin.source()
    await abandoned.rows.commit(0, (await source.after(['listings'], 0, 9)).rows)
    await source.close()
    t.regex(readdirSync(folder).join(), to === 'SQLite' ? /^[^,]+\.partial$/ : /^$/)
    await copyStore(origin.source, place.target)
    await t.throwsAsync(abandoned.publish(), undefined, 'the place is taken')
    await abandoned.close()
    t.is((await Picture.of(await place.store())).listings.size, 1101)
  })

test('copy: a Redis with blocks alone is not replaced', async (t) => {
  const place = places.Redis!(t)
  const store = await place.store()
  await fillBlocks(store)
  const origin = places.SQLite!(t)
  await (await origin.store()).addKey(keyNamed('other'))
  await t.throwsAsync(copyStore(origin.source, place.target), {
    message: /holds a store: stop the service/,
  })
  t.is((await Picture.of(store)).blocks.size, 3)
})

test('copy: of two copies to one Redis at once, the later one is shown, and whole', async (t) => {
  const [origin, place] = [places.SQLite!(t), places.Redis!(t)]
  await fill(await origin.store())
  let later: Promise<unknown> | undefined
  const target = async () => {
    const copy = await place.target()
    const publish = copy.publish.bind(copy)
    copy.publish = async () => {
      later = copyStore(origin.source, second)
      await began.promise
      await publish()
    }
    return copy
  }
  const began = Promise.withResolvers<void>()
  const second = async () => {
    const copy = await place.target()
    began.resolve()
    return copy
  }
  await t.throwsAsync(copyStore(origin.source, target), { message: /another restore into this Redis began/ })
  await later
  t.is((await Picture.of(await place.store())).listings.size, 1101)
})
