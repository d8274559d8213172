import test from 'ava'
import { CopyIndex } from '../../../../src/listing-index/copy-index.ts'
import { activeBlocks } from '../../../../src/registry/blocks.ts'
import { Replica } from '../../../../src/registry/replica.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import {
  BOB,
  freshRequest,
  freshUse,
  keyNamed,
  loaded,
  type OpenStore,
  published,
  publishOf,
  removeOf,
  replayed,
} from '../../../helpers/store/subject.ts'
import { VOCABULARY } from '../../../helpers/vocabulary.ts'

/** Two stores on the same data, at once or one after the other. */
export function sharingContract(name: string, open: OpenStore): void {
  test(`${name}: two open stores share ids, times, owners and the changelog`, async (t) => {
    const { store, another } = await open(t)
    const other = await another()
    const { position } = await loaded(other)
    const key = await store.addKey(keyNamed('alice'))
    const first = await published(store, publishOf('L'))
    const second = await published(other, publishOf('M', { identity: BOB }))
    t.true(first.createdAt < second.createdAt)
    t.not(first.publisherId, second.publisherId)
    t.is((await other.revokeKey(key.id))?.name, 'alice')
    t.is((await other.addKey(keyNamed('bob'))).id, key.id + 1)
    t.is((await other.publish(publishOf('L', { identity: BOB }))).outcome, 'not_owner')
    const picture = new Picture()
    for (const change of (await replayed(other, position)).changes) picture.apply(change)
    t.deepEqual(picture, await Picture.of(store))
  })

  test(`${name}: a signature used on one is used on the other`, async (t) => {
    const { store, another } = await open(t)
    const other = await another()
    const [first, removal] = [publishOf('L'), removeOf('L')]
    const changed = publishOf('L', { use: { ...freshUse(), ...first.use, body: 'another' } })
    t.deepEqual(await store.publish(first), await other.publish(first))
    t.is((await other.publish(changed)).outcome, 'signature_reused')
    await store.remove(removal)
    await published(other, publishOf('L'))
    t.is((await other.remove(removal)).outcome, 'signature_reused')
  })

  test(`${name}: a key works, and is revoked, and a listing and a block come and go, on both without a poll`, async (t) => {
    const { store, another } = await open(t)
    const replica = await Replica.open(await another(), {
      index: new CopyIndex([]),
      name: 'local',
      vocabulary: VOCABULARY,
      onFault: (cause) => t.fail(String(cause)),
      // It does not move, so the replica never polls.
      clock: manualClock(),
    })
    t.teardown(() => replica.close())
    const { projection } = replica
    const subject = { kind: 'publisher', publisher: '0xa11ce' } as const
    const key = await store.addKey(keyNamed('k'))
    const block = await store.addBlock({ subject, source: null, reason: 'r', by: 'ann', until: null })
    await published(store, publishOf('L'))
    await eventually('the key works', () => projection.keyByHash(key.hash)?.revokedAt === null)
    await eventually('blocked', () => activeBlocks(projection).length === 1)
    await eventually('listed', () => projection.listing('L'))
    await store.revokeKey(key.id)
    await store.endBlock(block.id)
    await store.remove(removeOf('L'))
    await eventually('the key is revoked', () => projection.keyByHash(key.hash)?.revokedAt)
    await eventually('not blocked any more', () => activeBlocks(projection).length === 0)
    await eventually('not listed any more', () => projection.listing('L') === undefined)
    t.pass()
  })

  test(`${name}: writers on two open stores do not exceed maxListings together, and none takes the time of another`, async (t) => {
    const { store, another } = await open(t)
    const other = await another()
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        (n % 2 ? store : other).publish(publishOf(`L${n}`, { maxListings: 7 })),
      ),
    )
    const times = outcomes.flatMap((one) => (one.outcome === 'published' ? [one.record.createdAt] : []))
    t.is(new Set(times).size, 7)
    await (await another()).remove(removeOf([...(await Picture.of(store)).listings.keys()][0]!))
    const next = Array.from({ length: 2 }, (_, n) => publishOf(`next ${n}`, { maxListings: 7 }))
    t.is((await store.publish(next[0]!)).outcome, 'published')
    t.is((await other.publish(next[1]!)).outcome, 'too_many_listings')
  })

  test(`${name}: of two tries of a signed write at once, on two open stores, one has it`, async (t) => {
    const { store, another } = await open(t)
    const other = await another()
    for (let n = 0; n < 20; n++) {
      const use = freshRequest()
      const outcomes = await Promise.all([store.reserve(use), other.reserve(use)])
      t.deepEqual(outcomes.map(({ outcome }) => outcome).sort(), ['in_progress', 'reserved'])
      await other.settle(use, { status: 404, body: '{}' })
      t.is((await store.reserve(use)).outcome, 'answered')
    }
  })
}
