import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import { Redis } from 'ioredis'
import { backupStore, restoreStore } from '../../../src/context/store-commands.ts'
import type { NewAuditEntry } from '../../../src/domain/audit.ts'
import { NEW_LISTING_FIELDS } from '../../../src/domain/listing.ts'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { testRedis } from '../../helpers/redis.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { ALICE, BOB } from '../../helpers/seller.ts'
import { Picture } from '../../helpers/store/picture.ts'
import { freshRequest, freshUse, published, publishOf, updateOf } from '../../helpers/store/subject.ts'

const redis = await testRedis()
test.after.always(() => redis.dispose())

/**
 * Frozen stores of these versions, which their own code has written: a key, a listing of Alice with a storefront, a closed one of
 * Bob, one that was deleted, used signatures that expire in 2096, and a spent one. A backup has the time before which all
 * signatures are refused in place of the used ones.
 */
const VERSIONS = ['0.2.0', '0.3.0']

const fixture = (name: string): Buffer =>
  readFileSync(new URL(`../../fixtures/stores/${name}`, import.meta.url))

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

const identityOf = ({ address }: typeof ALICE) => ({ scheme: 'eip191', identifier: address.toLowerCase() })
const ID = 'L "ü"'
const OFFER = '{ "gpu_model":"H200", "ü":"\\u00fc" }'

/** What the old version has acknowledged. */
async function assertKept(t: ExecutionContext, store: Store): Promise<void> {
  const picture = await Picture.of(store)
  const [alice, bob] = [ALICE, BOB].map(identityOf)
  t.like(picture.sorted(), {
    publishers: [
      { publisherId: 1, ...alice, storefrontUrl: 'http://a.example/', rotations: [] },
      { publisherId: 2, ...bob, storefrontUrl: null, rotations: [] },
    ],
    listings: [
      {
        ...NEW_LISTING_FIELDS,
        listingId: ID,
        publisherId: 1,
        offerResource: OFFER,
        oracleAddress: '"0x1"',
        acceptedEscrows: '[{"rates":[1.50]}]',
      },
      { ...NEW_LISTING_FIELDS, listingId: 'M', publisherId: 2, status: 'closed' },
    ],
    keys: [{ id: 1, name: 'old ü', scope: 'write', revokedAt: null }],
  })
  const expiresAt = (n: number) => (n === 2 ? 1_790_000_100_000_000 : 4_000_000_000_000_000)
  const used = (n: number) =>
    freshUse({ signature: `signature-${n}`, body: 'another', expiresAt: expiresAt(n) })
  for (const [n, id] of [
    [1, ID],
    [2, 'M'],
    [3, 'N'],
  ] as const) {
    const identity = n === 2 ? bob! : alice!
    t.is((await store.publish(publishOf(id, { identity, use: used(n) }))).outcome, 'signature_reused', id)
  }
}

/** Owners of the plain line are principals, and what is new is kept beside what is old. */
async function assertCurrent(t: ExecutionContext, store: Store): Promise<void> {
  const identity = identityOf(ALICE)
  const replacement = { scheme: 'ed25519', identifier: 'key' }
  const use = freshRequest()
  t.is((await store.reserve(use)).outcome, 'reserved')
  const settlementOptions = '[{"rates":[1.50]}]'
  await published(store, publishOf(ID, { identity, use, fields: { settlementOptions } }))
  await store.settle(use, { status: 201, body: '' })
  t.is((await store.reserve(use)).outcome, 'answered')
  const intent = { nonce: 'n', current: identity, replacement, overlapSeconds: 0, expiresAt: 4_000_000_000 }
  const { outcome } = await store.rotate({ publisherId: 1, intent, use: freshRequest() })
  t.is(outcome, 'recorded')
  t.is((await store.update(updateOf(ID, { identity: replacement }))).outcome, 'updated')
  t.is((await store.publish(publishOf('P', { identity }))).outcome, 'retired')
  const { listings, publishers } = await Picture.of(store)
  t.like(listings.get(ID), { offerResource: OFFER, settlementOptions })
  t.like(publishers.get(1), replacement)
  t.deepEqual(await store.readAudit(0, 10), [])
  const block = { subject: { kind: 'publisher', publisher: '0xa' }, source: null, reason: 'r' } as const
  await store.addBlock({ ...block, by: 'ann', until: null })
  for (const entry of ACTS) await store.appendAudit(entry, { maxBytes: 1_000_000, maxAgeMicros: 60_000_000 })
  t.is((await store.readAudit(0, 10)).length, ACTS.length)
}

const ACT = { by: 'ann', keyId: 1, publisher: null, subject: '0xa', client: null, result: 'ok' } as const
const ACTS: readonly NewAuditEntry[] = [
  { ...ACT, kind: 'operator', act: 'block.add' },
  { ...ACT, kind: 'seller', act: 'listing.publish', publisher: '0xa' },
]

for (const version of VERSIONS) {
  test(`upgrade: a file of ${version} keeps what it had, and its owners sign on both lines`, async (t) => {
    const store = openSqliteStore(oldFile(t, version))
    t.teardown(() => store.close())
    await assertKept(t, store)
    await assertCurrent(t, store)
  })

  test(`upgrade: a Redis of ${version} keeps what it had, and its owners sign on both lines`, async (t) => {
    const { store } = await openRedisStore(redis.url, { prefix: await oldRedis(t, version) })
    t.teardown(() => store.close())
    await assertKept(t, store)
    await assertCurrent(t, store)
  })

  test(`upgrade: a backup of ${version} is restored, and a store with replaced identities is backed up`, async (t) => {
    const backup = oldFile(t, version, '-backup')
    const restored = join(temporaryFolder(t), 'restored.db')
    t.deepEqual(await restoreStore(backup, `sqlite:${restored}`), { listings: 2, publishers: 2, keys: 1 })
    const store = openSqliteStore(restored)
    t.teardown(() => store.close())
    await assertKept(t, store)
    const acts = (await store.readAudit(0, 10)).map(({ act, subject, result }) => [act, subject, result])
    t.deepEqual(acts, [['restore', backup, 'ok']])
    const file = oldFile(t, version)
    const current = openSqliteStore(file)
    t.teardown(() => current.close())
    await assertCurrent(t, current)
    const newer = join(temporaryFolder(t), 'newer.db')
    await backupStore(`sqlite:${file}`, newer)
    const again = join(temporaryFolder(t), 'again.db')
    await restoreStore(newer, `sqlite:${again}`)
    const last = openSqliteStore(again)
    t.teardown(() => last.close())
    t.deepEqual((await Picture.of(last)).sorted(), (await Picture.of(current)).sorted())
    t.deepEqual((await last.readAudit(0, 10)).slice(0, ACTS.length), await current.readAudit(0, ACTS.length))
    const use = freshUse({ expiresAt: 4_000_000_000_000_000 })
    t.is((await last.publish(publishOf('P', { identity: identityOf(ALICE), use }))).outcome, 'retired')
    const earlier = freshRequest({ expiresAt: use.now + 599_000_000 })
    t.is((await last.reserve(earlier)).outcome, 'changed_reuse', 'signed before the restore')
  })
}
