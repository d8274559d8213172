import test from 'ava'
import { MAX_LISTING_BYTES, NEW_LISTING_FIELDS, rowBytes } from '../../../../src/domain/listing.ts'
import { MAX_ROTATIONS, type PublisherIdentity } from '../../../../src/domain/publisher.ts'
import { nowMicros } from '../../../../src/domain/timestamp.ts'
import type { WriteRequest } from '../../../../src/store/commands.ts'
import { LEASE_MICROS } from '../../../../src/store/guard.ts'
import type { Store } from '../../../../src/store/store.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import {
  ALICE,
  BOB,
  freshRequest,
  freshUse,
  loaded,
  type OpenStore,
  published,
  publishOf,
  removeOf,
  replayed,
  updateOf,
} from '../../../helpers/store/subject.ts'

const CAROL = { scheme: 'ed25519', identifier: 'carol' }
const DAN = { scheme: 'ed25519', identifier: 'dan' }
const RECEIPT = { status: 201, body: '{"listing_id":"ü"}' }

async function reserved(store: Store, overrides: Partial<WriteRequest> = {}): Promise<WriteRequest> {
  const use = freshRequest(overrides)
  const { outcome } = await store.reserve(use)
  if (outcome !== 'reserved') throw new Error(`expected reserved, got ${outcome}`)
  return use
}

/** Writes of the signed line: their records, settlement options, and identities that are replaced. */
export function signedWriteContract(name: string, open: OpenStore): void {
  test(`${name}: a settled request gives its answer again; its id is good for no other request`, async (t) => {
    const { store } = await open(t)
    const use = await reserved(store)
    t.deepEqual(await store.reserve(use), { outcome: 'in_progress' })
    t.deepEqual(await store.reserve({ ...use, hash: 'other' }), { outcome: 'changed_reuse' })
    await store.settle(use, RECEIPT)
    await store.settle(use, { status: 404, body: '' })
    t.deepEqual(await store.reserve({ ...use, now: use.now + 1 }), { outcome: 'answered', answer: RECEIPT })
    t.deepEqual(await store.reserve({ ...use, hash: 'other' }), { outcome: 'changed_reuse' })
  })

  test(`${name}: a request that was given up can be tried again, and its mutation is made once`, async (t) => {
    const { store } = await open(t)
    const use = await reserved(store)
    const first = await published(store, publishOf('L', { use }))
    t.is((await store.reserve({ ...use, now: use.now + LEASE_MICROS - 1 })).outcome, 'in_progress')
    const later = { ...use, now: use.now + LEASE_MICROS }
    t.is((await store.reserve(later)).outcome, 'reserved')
    await store.remove(removeOf('L'))
    t.deepEqual(await published(store, publishOf('L', { use: later })), first)
    t.is((await Picture.of(store)).listings.size, 0)
    await store.settle(later, null)
    t.is((await store.reserve(later)).outcome, 'reserved', 'released')
    t.is(
      (await store.reserve({ ...later, now: later.now - 60_000_000 })).outcome,
      'reserved',
      'clock set back',
    )
    const changes = await reserved(store)
    await published(store, publishOf('M'))
    const update = updateOf('M', { status: 'closed', use: changes })
    t.deepEqual(await store.update(update), await store.update({ ...update, status: 'open' }))
    const removal = removeOf('M', { use: await reserved(store) })
    t.deepEqual(await store.remove(removal), { outcome: 'removed' })
    await published(store, publishOf('M'))
    t.deepEqual(await store.remove(removal), { outcome: 'removed' })
    t.is((await Picture.of(store)).listings.size, 1)
  })

  test(`${name}: a record lasts as long as the latest try, and its id is never free again`, async (t) => {
    const { store } = await open(t)
    const now = nowMicros()
    const use = await reserved(store, { now, expiresAt: now + 100 })
    await store.settle(use, RECEIPT)
    const later = { ...use, now: now + 90, expiresAt: now + 190 }
    t.is((await store.reserve(later)).outcome, 'answered')
    t.is((await store.reserve({ ...use, now: now + 150 })).outcome, 'answered')
    const spent = { ...use, now: now + 190, expiresAt: now + 290 }
    t.is((await store.reserve(spent)).outcome, 'changed_reuse')
  })

  test(`${name}: settlement options are kept like other fields, and count in the size of a listing`, async (t) => {
    const { store } = await open(t)
    const settlementOptions = '[{"rates":[1.50]}]'
    await published(store, publishOf('L', { fields: { settlementOptions } }))
    await published(store, publishOf('L', { fields: { demands: '[1]' } }))
    await store.update(updateOf('L', { status: 'closed' }))
    const { listings } = await Picture.of(store)
    t.like(listings.get('L'), { settlementOptions, demands: '[1]', status: 'closed' })
    const record = { ...NEW_LISTING_FIELDS, ...listings.get('L')!, listingId: 'M', status: 'open' as const }
    const room = MAX_LISTING_BYTES - rowBytes({ ...record, demands: '[]', settlementOptions: '""' }, null)
    const fields = (bytes: number) => ({ settlementOptions: JSON.stringify('x'.repeat(bytes)) })
    t.is((await store.publish(publishOf('M', { fields: fields(room) }))).outcome, 'published')
    t.is((await store.publish(publishOf('N', { fields: fields(room + 1) }))).outcome, 'too_large')
    await published(store, publishOf('L', { fields: { settlementOptions: '[]' } }))
    t.is((await Picture.of(store)).listings.get('L')?.settlementOptions, '[]')
  })

  const rotation = (
    nonce: string,
    current: PublisherIdentity,
    replacement: PublisherIdentity,
    seconds = 50,
  ) => ({
    publisherId: 1,
    intent: { nonce, current, replacement, overlapSeconds: seconds, expiresAt: 4_000_000_000 },
  })

  test(`${name}: a publisher that replaces its identity keeps id and listings, and both act until the overlap ends`, async (t) => {
    const { store } = await open(t)
    const { position } = await loaded(store)
    await published(store, publishOf('L', { storefrontUrl: 'https://a.example' }))
    await published(store, publishOf('B', { identity: BOB }))
    const use = await reserved(store)
    const command = { ...rotation('n', ALICE, CAROL), use }
    const applied = await store.rotate(command)
    t.like(applied, { outcome: 'recorded', rotation: { appliedAt: use.now, retiredAt: null } })
    t.deepEqual(await store.rotate(command), applied, 'the same request')
    t.deepEqual(await store.rotate({ ...command, use: await reserved(store) }), applied, 'the same intent')
    const at = (seconds: number) => freshUse({ now: use.now + seconds * 1_000_000 })
    const byCarol = await published(store, publishOf('M', { identity: CAROL, use: at(1) }))
    t.is(byCarol.publisherId, 1)
    await published(store, publishOf('L', { use: at(49), storefrontUrl: 'https://b.example' }))
    t.is((await store.publish(publishOf('N', { use: at(50) }))).outcome, 'retired')
    t.is((await store.publish(publishOf('L', { use: at(50) }))).outcome, 'retired')
    t.is((await store.update(updateOf('L', { use: at(50) }))).outcome, 'not_owner')
    t.is((await store.remove(removeOf('L', { identity: CAROL, use: at(60) }))).outcome, 'removed')
    const picture = await Picture.of(store)
    t.like(picture.publishers.get(1), { ...CAROL, storefrontUrl: 'https://b.example' })
    t.is(picture.publishers.get(1)?.rotations.length, 1)
    const followed = new Picture()
    for (const change of (await replayed(store, position, 2)).changes) followed.apply(change)
    t.deepEqual(followed.sorted(), picture.sorted())
  })

  test(`${name}: rotations that contradict an earlier one, or an identity that is taken, change nothing`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L'))
    await published(store, publishOf('B', { identity: BOB }))
    const now = nowMicros()
    const rotate = async (command: ReturnType<typeof rotation>, seconds = 0) =>
      (await store.rotate({ ...command, use: await reserved(store, { now: now + seconds * 1_000_000 }) }))
        .outcome
    t.is(await rotate({ ...rotation('n', ALICE, CAROL), publisherId: 3 }), 'publisher_not_found')
    t.is(await rotate(rotation('n', CAROL, ALICE)), 'not_primary')
    t.is(await rotate(rotation('n', ALICE, BOB)), 'bound')
    t.is(await rotate(rotation('n', ALICE, CAROL)), 'recorded')
    t.is(await rotate(rotation('n', ALICE, DAN)), 'nonce_mismatch')
    t.is(await rotate(rotation('m', CAROL, DAN)), 'overlap_active')
    t.is(await rotate(rotation('m', CAROL, ALICE), 50), 'bound')
    t.is(await rotate(rotation('m', ALICE, DAN), 50), 'not_primary')
    const retire = async (nonce: string, identity: PublisherIdentity, publisherId = 1) =>
      (await store.retire({ publisherId, nonce, identity, use: await reserved(store, { now }) })).outcome
    t.is(await retire('x', CAROL), 'rotation_not_found')
    t.is(await retire('n', CAROL, 3), 'rotation_not_found')
    t.is(await retire('n', ALICE), 'not_replacement')
    t.is(await retire('n', CAROL), 'recorded')
    t.is((await store.publish(publishOf('N', { use: freshUse({ now }) }))).outcome, 'retired')
    t.is(await rotate(rotation('m', CAROL, DAN, 0)), 'recorded')
    t.is(
      (await store.publish(publishOf('N', { identity: CAROL, use: freshUse({ now }) }))).outcome,
      'retired',
    )
    t.is(await retire('n', CAROL), 'replaced_again')
    t.is((await Picture.of(store)).publishers.size, 2)
  })

  test(`${name}: the rotations of a publisher are bounded`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L'))
    const identity = (n: number) => (n === 0 ? ALICE : { scheme: 'ed25519', identifier: `key-${n}` })
    for (let n = 0; n <= MAX_ROTATIONS; n++) {
      const use = await reserved(store)
      const { outcome } = await store.rotate({
        ...rotation(`n-${n}`, identity(n), identity(n + 1), 0),
        use,
      })
      t.is(outcome, n < MAX_ROTATIONS ? 'recorded' : 'too_many_rotations')
    }
  })
}
