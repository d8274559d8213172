import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import { Redis } from 'ioredis'
import { backupStore, restoreStore } from '../../../../src/context/store-commands.ts'
import { NEW_LISTING_FIELDS } from '../../../../src/domain/listing.ts'
import { nowMicros } from '../../../../src/domain/timestamp.ts'
import { openRedisStore } from '../../../../src/store/redis/open.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import type { Store } from '../../../../src/store/store.ts'
import { testRedis } from '../../../helpers/redis.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { ALICE, BOB } from '../../../helpers/seller.ts'
import {
  FROZEN_ACTS,
  FROZEN_BLOCKS,
  FROZEN_ID,
  FROZEN_OFFER,
  identityOf,
  SPENT_AT,
} from '../../../helpers/store/frozen.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import { freshRequest, freshUse, published, publishOf, updateOf } from '../../../helpers/store/subject.ts'

const redis = await testRedis()
test.after.always(() => redis.dispose())

/**
 * Frozen stores of these versions, which their own code has written: a key, a listing of Alice with a storefront, a closed one of
 * Bob, one that was deleted, used signatures that expire in 2096, and a spent one. A backup has the time before which all
 * signatures are refused in place of the used ones. From 0.4.0 on (`scripts/freeze-stores.ts`) they have blocks, acts, a key with a
 * view, and a seller of the signed line.
 */
const VERSIONS = ['0.2.0', '0.3.0', '0.4.0'] as const
type Version = (typeof VERSIONS)[number]
const isBefore = (version: Version): boolean => version !== '0.4.0'

const fixture = (name: string): Buffer =>
  readFileSync(new URL(`../../../fixtures/stores/${name}`, import.meta.url))

/** `what`: `''` or `-backup`. */
function oldFile(t: ExecutionContext, version: string, what = ''): string {
  const path = join(temporaryFolder(t), 'old.db')
  writeFileSync(path, gunzipSync(fixture(`${version}${what}.db.gz`)))
  return path
}

type Keys = Record<
  string,
  | { type: 'string'; value: string }
  | { type: 'hash'; value: Record<string, string> }
  | { type: 'zset'; value: string[] }
  | { type: 'stream'; value: [string, string[]][] }
>

async function oldRedis(t: ExecutionContext, version: string): Promise<string> {
  const prefix = `{entrepot-test-${randomUUID()}}:`
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  for (const [name, key] of Object.entries(JSON.parse(fixture(`${version}-redis.json`).toString()) as Keys)) {
    const at = `${prefix}${name}`
    if (key.type === 'string') await client.set(at, key.value)
    else if (key.type === 'hash') await client.hset(at, key.value)
    else if (key.type === 'stream') for (const [id, fields] of key.value) await client.xadd(at, id, ...fields)
    else for (let n = 0; n < key.value.length; n += 2) await client.zadd(at, key.value[n + 1]!, key.value[n]!)
  }
  return prefix
}

/** What the old version has acknowledged. */
async function assertKept(t: ExecutionContext, store: Store, version: Version): Promise<void> {
  const picture = await Picture.of(store)
  const [alice, bob] = [ALICE, BOB].map(identityOf)
  t.like(picture.sorted(), {
    publishers: [
      { publisherId: 1, ...alice, storefrontUrl: 'http://a.example/', rotations: [] },
      { publisherId: 2, ...bob, storefrontUrl: null, rotations: [] },
      ...(isBefore(version) ? [] : [{ publisherId: 3, scheme: 'ed25519', identifier: 'carol again' }]),
    ],
    listings: [
      {
        ...NEW_LISTING_FIELDS,
        listingId: FROZEN_ID,
        publisherId: 1,
        offerResource: FROZEN_OFFER,
        oracleAddress: '"0x1"',
        acceptedEscrows: '[{"rates":[1.50]}]',
      },
      { ...NEW_LISTING_FIELDS, listingId: 'M', publisherId: 2, status: 'closed' },
      ...(isBefore(version) ? [] : [{ listingId: 'R', settlementOptions: '[{"rates":[1.50]}]' }]),
    ],
    keys: [
      { id: 1, name: 'old ü', scope: 'write', view: null, expiresAt: null, revokedAt: null },
      ...(isBefore(version)
        ? []
        : [
            { id: 2, name: 'partner', view: 'partners' },
            { id: 3, scope: 'admin' },
          ]),
    ],
    blocks: isBefore(version) ? [] : FROZEN_BLOCKS,
  })
  t.deepEqual(
    [picture.publishers, picture.keys, picture.blocks].map(({ size }) => size),
    isBefore(version) ? [2, 1, 0] : [3, 3, 3],
  )
  t.deepEqual(
    [...picture.blocks.values()].flatMap(({ id, endedAt }) => (endedAt === null ? [] : id)),
    isBefore(version) ? [] : [2],
  )
  const acts = (await store.readAudit(0, 10)).filter(({ act }) => act !== 'restore')
  t.deepEqual(
    acts.map(({ at: _, ...act }) => act),
    isBefore(version) ? [] : FROZEN_ACTS,
  )
  const expiresAt = (n: number) => (n === 2 ? SPENT_AT : 4_000_000_000_000_000)
  const used = (n: number) =>
    freshUse({ signature: `signature-${n}`, body: 'another', expiresAt: expiresAt(n) })
  for (const [n, id] of [
    [1, FROZEN_ID],
    [2, 'M'],
    [3, 'N'],
  ] as const) {
    const identity = n === 2 ? bob! : alice!
    t.is((await store.publish(publishOf(id, { identity, use: used(n) }))).outcome, 'signature_reused', id)
  }
}

/** Owners of the plain line are principals, and what is new is kept beside what is old. */
async function assertCurrent(t: ExecutionContext, store: Store, version: Version): Promise<void> {
  const identity = identityOf(ALICE)
  const replacement = { scheme: 'ed25519', identifier: 'key' }
  const use = freshRequest()
  t.is((await store.reserve(use)).outcome, 'reserved')
  const settlementOptions = '[{"rates":[1.50]}]'
  await published(store, publishOf(FROZEN_ID, { identity, use, fields: { settlementOptions } }))
  await store.settle(use, { status: 201, body: '' })
  t.is((await store.reserve(use)).outcome, 'answered')
  const intent = { nonce: 'n', current: identity, replacement, overlapSeconds: 0, expiresAt: 4_000_000_000 }
  const { outcome } = await store.rotate({ publisherId: 1, intent, use: freshRequest() })
  t.is(outcome, 'recorded')
  t.is((await store.update(updateOf(FROZEN_ID, { identity: replacement }))).outcome, 'updated')
  t.is((await store.publish(publishOf('P', { identity }))).outcome, 'retired')
  const { listings, publishers } = await Picture.of(store)
  t.like(listings.get(FROZEN_ID), { offerResource: FROZEN_OFFER, settlementOptions })
  t.like(publishers.get(1), replacement)
  const acts = await store.readAudit(0, 10)
  await store.addBlock(FROZEN_BLOCKS[0]!)
  for (const entry of FROZEN_ACTS) await store.appendAudit(entry, FOREVER)
  t.is((await store.readAudit(0, 10)).length, acts.length + FROZEN_ACTS.length)
  t.is((await Picture.of(store)).blocks.size, isBefore(version) ? 1 : 4)
}

const FOREVER = { maxBytes: 1_000_000, maxAgeMicros: 4_000_000_000_000_000 }

const OLD = { listings: 2, publishers: 2, keys: 1 }
const COUNTS: Record<Version, object> = {
  '0.2.0': OLD,
  '0.3.0': OLD,
  '0.4.0': { listings: 3, publishers: 3, keys: 3, blocks: 3 },
}

for (const version of VERSIONS) {
  test(`upgrade: a file of ${version} keeps what it had, and its owners sign on both lines`, async (t) => {
    const store = openSqliteStore(oldFile(t, version))
    t.teardown(() => store.close())
    await assertKept(t, store, version)
    await assertCurrent(t, store, version)
  })

  test(`upgrade: a Redis of ${version} keeps what it had, and its owners sign on both lines`, async (t) => {
    const { store } = await openRedisStore(redis.url, { prefix: await oldRedis(t, version) })
    t.teardown(() => store.close())
    await assertKept(t, store, version)
    await assertCurrent(t, store, version)
  })

  test(`upgrade: a backup of ${version} is restored, and a store with replaced identities is backed up`, async (t) => {
    const backup = oldFile(t, version, '-backup')
    const restored = join(temporaryFolder(t), 'restored.db')
    t.deepEqual(await restoreStore(backup, `sqlite:${restored}`), COUNTS[version])
    const store = openSqliteStore(restored)
    t.teardown(() => store.close())
    await assertKept(t, store, version)
    const acts = (await store.readAudit(0, 10)).map(({ act, subject, result }) => [act, subject, result])
    t.deepEqual(acts.at(-1), ['restore', backup, 'ok'])
    const file = oldFile(t, version)
    const current = openSqliteStore(file)
    t.teardown(() => current.close())
    await assertCurrent(t, current, version)
    const newer = join(temporaryFolder(t), 'newer.db')
    await backupStore(`sqlite:${file}`, newer)
    const again = join(temporaryFolder(t), 'again.db')
    const beforeRestore = nowMicros()
    await restoreStore(newer, `sqlite:${again}`)
    const last = openSqliteStore(again)
    t.teardown(() => last.close())
    t.deepEqual((await Picture.of(last)).sorted(), (await Picture.of(current)).sorted())
    t.deepEqual((await last.readAudit(0, 10)).slice(0, 2), await current.readAudit(0, 2))
    const use = freshUse({ expiresAt: 4_000_000_000_000_000 })
    t.is((await last.publish(publishOf('P', { identity: identityOf(ALICE), use }))).outcome, 'retired')
    const earlier = freshRequest({ expiresAt: beforeRestore + 600_000_000 })
    t.is((await last.reserve(earlier)).outcome, 'changed_reuse', 'signed before the restore')
  })
}
