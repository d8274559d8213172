import test from 'ava'
import {
  type ListingFields,
  MAX_LISTING_BYTES,
  NEW_LISTING_FIELDS,
  rowBytes,
} from '../../../../src/domain/listing.ts'
import { nowMicros } from '../../../../src/domain/timestamp.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import {
  ALICE,
  BOB,
  freshUse,
  keyNamed,
  loaded,
  type OpenStore,
  published,
  publishOf,
  removeOf,
  replayed,
  updateOf,
} from '../../../helpers/store/subject.ts'

/** Publish, update, remove: outcomes and what is kept. */
export function publishingContract(name: string, open: OpenStore): void {
  test(`${name}: absent fields of a new listing take the defaults`, async (t) => {
    const { store } = await open(t)
    const receipt = await published(store, publishOf('L'))
    t.is(receipt.status, 'open')
    t.is(receipt.createdAt, receipt.updatedAt)
    t.deepEqual((await Picture.of(store)).listings.get('L'), { ...NEW_LISTING_FIELDS, ...receipt })
  })

  test(`${name}: published JSON text is stored byte for byte`, async (t) => {
    const { store } = await open(t)
    const fields = {
      offerResource: '{ "price": 99.0, "big": 1180591620717411303424, "z": 1, "a": "\\u0000 é 😀 \\"\\\\" }',
      acceptedEscrows: '[{"rates":[1e21,-0.0]}]',
      demands: '[[],{}]',
      maxDurationSeconds: '3600',
      oracleAddress: '"0xFe"',
    }
    await published(store, publishOf('ids/with "any" text é 😀', { fields }))
    t.like((await Picture.of(store)).listings.get('ids/with "any" text é 😀'), fields)
  })

  test(`${name}: replacing keeps absent fields and created_at`, async (t) => {
    const { store } = await open(t)
    const fields = { offerResource: '{"gpu":"H100"}', demands: '[1]', oracleAddress: '"0x1"' }
    const first = await published(store, publishOf('L', { fields, status: 'closed' }))
    const second = await published(store, publishOf('L', { fields: { demands: '[]' } }))
    t.is(second.status, 'closed')
    t.is(second.createdAt, first.createdAt)
    t.true(second.updatedAt > first.updatedAt)
    const expected = { ...NEW_LISTING_FIELDS, ...fields, demands: '[]', ...second }
    t.deepEqual((await Picture.of(store)).listings.get('L'), expected)
    t.is((await published(store, publishOf('L', { status: 'open' }))).status, 'open')
  })

  test(`${name}: a new listing may have any status`, async (t) => {
    const { store } = await open(t)
    for (const status of ['open', 'closed', 'expired'] as const)
      t.is((await published(store, publishOf(status, { status }))).status, status)
  })

  test(`${name}: the first publish creates one publisher per scheme and identifier`, async (t) => {
    const { store } = await open(t)
    const alice = await published(store, publishOf('L1', { storefrontUrl: 'https://a.example' }))
    const bob = await published(store, publishOf('L2', { identity: BOB }))
    const other = await published(store, publishOf('L3', { identity: { ...ALICE, scheme: 'other' } }))
    t.is((await published(store, publishOf('L4'))).publisherId, alice.publisherId)
    const { publishers } = await Picture.of(store)
    t.deepEqual([...publishers.keys()], [alice.publisherId, bob.publisherId, other.publisherId])
    t.deepEqual(publishers.get(alice.publisherId), {
      publisherId: alice.publisherId,
      ...ALICE,
      storefrontUrl: 'https://a.example',
      createdAt: alice.createdAt,
      updatedAt: alice.createdAt,
      rotations: [],
    })
    t.is(publishers.get(bob.publisherId)?.storefrontUrl, null)
  })

  test(`${name}: only another storefront URL replaces it and logs the publisher`, async (t) => {
    const { store } = await open(t)
    const at = async (storefrontUrl: string | null) => {
      const { position } = await loaded(store)
      await published(store, publishOf('L', { storefrontUrl }))
      const { changes } = await replayed(store, position)
      const publishers = changes.filter((change) => change.kind === 'publisher')
      return publishers.map(({ publisher }) => publisher.storefrontUrl)
    }
    t.deepEqual(await at('https://one.example'), ['https://one.example'])
    t.deepEqual(await at('https://one.example'), [])
    t.deepEqual(await at(null), [])
    t.deepEqual(await at(''), [])
    t.deepEqual(await at('https://two.example'), ['https://two.example'])
    const [publisher] = (await Picture.of(store)).publishers.values()
    t.true(publisher!.updatedAt > publisher!.createdAt)
  })

  test(`${name}: an empty storefront URL is stored for a new publisher only`, async (t) => {
    const { store } = await open(t)
    const { signature, now } = freshUse()
    const publish = async (listingId: string, storefrontUrl: string | null) =>
      (await store.publish(publishOf(listingId, { storefrontUrl, use: freshUse({ signature, now }) })))
        .outcome
    t.is(await publish('L', ''), 'published')
    t.deepEqual(
      [...(await Picture.of(store)).publishers.values()].map(({ storefrontUrl }) => storefrontUrl),
      [''],
    )
    t.is(await publish('M', null), 'published')
    t.is(await publish('N', 'https://evil.example'), 'signature_reused')
  })

  test(`${name}: a row beyond MAX_LISTING_BYTES is refused and changes nothing`, async (t) => {
    const { store } = await open(t)
    const id = 'é"\\'
    const spoken = {
      offerResource: '{"é":"\\u00e9"}',
      storefrontUrl: 'https://é.example',
      status: 'closed' as const,
    }
    const publish = (room: number) => {
      const { storefrontUrl, status, offerResource } = spoken
      const fields = { offerResource, demands: `"${'x'.repeat(room)}"` }
      return store.publish(publishOf(id, { storefrontUrl, status, fields }))
    }
    const bytes = async () => {
      const { publishers, listings } = await Picture.of(store)
      const record = listings.get(id)!
      return rowBytes(record, publishers.get(record.publisherId)!.storefrontUrl)
    }
    const empty = await loaded(store)
    t.deepEqual(await publish(MAX_LISTING_BYTES), { outcome: 'too_large' })
    t.deepEqual(await loaded(store), empty)
    t.is((await publish(0)).outcome, 'published')
    const room = MAX_LISTING_BYTES - (await bytes())
    t.is((await publish(room)).outcome, 'published')
    t.is(await bytes(), MAX_LISTING_BYTES)
    const full = await loaded(store)
    t.deepEqual(await publish(room + 1), { outcome: 'too_large' })
    const kept = publishOf(id, { fields: { acceptedEscrows: '[0]' } })
    t.deepEqual(await store.publish(kept), { outcome: 'too_large' })
    t.deepEqual(await store.update(updateOf(id, { oracleAddress: '"0x1"' })), { outcome: 'too_large' })
    t.deepEqual(await loaded(store), full)
    t.is((await store.update(updateOf(id, { status: 'expired' }))).outcome, 'updated', 'it can be closed')
  })

  test(`${name}: a publish beyond maxListings is refused and changes nothing`, async (t) => {
    const { store } = await open(t)
    const publish = async (id: string, identity = ALICE) =>
      (await store.publish(publishOf(id, { identity, maxListings: 2 }))).outcome
    t.deepEqual([await publish('L'), await publish('M')], ['published', 'published'])
    const full = await loaded(store)
    const url = { storefrontUrl: 'https://a.example', maxListings: 2 }
    t.deepEqual(await store.publish(publishOf('N', url)), { outcome: 'too_many_listings' })
    t.deepEqual(await loaded(store), full)
    t.is(await publish('L'), 'published', 'one of them again')
    t.is(await publish('N', BOB), 'published', 'another publisher')
    await store.remove(removeOf('L'))
    await store.remove(removeOf('nothing'))
    t.is(await publish('L', BOB), 'published', 'its id at another publisher')
    t.deepEqual([await publish('O'), await publish('P')], ['published', 'too_many_listings'])
    t.is((await store.publish(publishOf('P', { maxListings: 0 }))).outcome, 'published', '0 is no limit')
  })

  test(`${name}: concurrent publishes do not exceed maxListings`, async (t) => {
    const { store } = await open(t)
    const all = Array.from({ length: 30 }, (_, n) => store.publish(publishOf(`L${n}`, { maxListings: 7 })))
    const outcomes = (await Promise.all(all)).map(({ outcome }) => outcome)
    t.is(outcomes.filter((outcome) => outcome === 'published').length, 7)
    t.is((await Picture.of(store)).listings.size, 7)
  })

  test(`${name}: a listing that would not pass the check of its command is not written`, async (t) => {
    const { store } = await open(t)
    const seen = new Set<string>()
    const violations = [{ path: '<root>', message: 'no' }]
    const check = ({ demands, oracleAddress }: ListingFields, storefrontUrl: string | null) => {
      seen.add([demands, oracleAddress, storefrontUrl].join(' '))
      return demands === '[1]' ? violations : []
    }
    const url = { storefrontUrl: 'https://a.example' }
    const unfit = { outcome: 'unfit', violations }
    t.deepEqual(await store.publish(publishOf('L', { ...url, fields: { demands: '[1]' }, check })), unfit)
    t.deepEqual((await loaded(store)).changes, [])
    await published(store, publishOf('L', { ...url, check }))
    await published(store, publishOf('L', { fields: { demands: '[1]' } }))
    const before = await loaded(store)
    t.deepEqual(await store.update(updateOf('L', { oracleAddress: '"0x1"', check })), unfit)
    t.is((await store.publish(publishOf('L', { identity: BOB, check }))).outcome, 'not_owner')
    t.deepEqual(await loaded(store), before)
    t.deepEqual(
      [...seen],
      ['[1] null https://a.example', '[] null https://a.example', '[1] "0x1" https://a.example'],
    )
  })

  test(`${name}: another publisher's listing cannot be published, updated or removed`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L', { storefrontUrl: 'https://a.example' }))
    const before = await loaded(store)
    const url = { storefrontUrl: 'https://b.example' }
    t.deepEqual(await store.publish(publishOf('L', { identity: BOB, ...url })), { outcome: 'not_owner' })
    t.deepEqual(await store.update(updateOf('L', { identity: BOB, status: 'closed' })), {
      outcome: 'not_owner',
    })
    t.deepEqual(await store.remove(removeOf('L', { identity: BOB })), { outcome: 'not_owner' })
    t.deepEqual(await loaded(store), before)
  })

  test(`${name}: concurrent publishes of one new listing give it one owner`, async (t) => {
    const { store } = await open(t)
    const claims = Array.from({ length: 20 }, (_, n) => ({ scheme: 'eip191', identifier: `0x${n}` }))
    const outcomes = await Promise.all(claims.map((identity) => store.publish(publishOf('L', { identity }))))
    t.is(outcomes.filter(({ outcome }) => outcome === 'published').length, 1)
    t.is((await Picture.of(store)).publishers.size, 1)
  })

  test(`${name}: an update changes only status or oracle, and always updated_at`, async (t) => {
    const { store } = await open(t)
    const fields = { offerResource: '{"gpu":"H100"}', oracleAddress: '"0x1"' }
    const first = await published(store, publishOf('L', { fields }))
    const closed = await store.update(updateOf('L', { status: 'closed' }))
    const cleared = await store.update(updateOf('L', { oracleAddress: 'null' }))
    const touched = await store.update(updateOf('L'))
    if (closed.outcome !== 'updated' || cleared.outcome !== 'updated' || touched.outcome !== 'updated')
      return t.fail('an update was refused')
    t.is(closed.record.status, 'closed')
    t.true(first.updatedAt < closed.record.updatedAt)
    t.true(closed.record.updatedAt < cleared.record.updatedAt)
    t.true(cleared.record.updatedAt < touched.record.updatedAt)
    const expected = { ...NEW_LISTING_FIELDS, ...first, ...fields, ...touched.record, oracleAddress: 'null' }
    t.deepEqual((await Picture.of(store)).listings.get('L'), expected)
  })

  test(`${name}: removing a listing keeps its publisher and frees its id`, async (t) => {
    const { store } = await open(t)
    const first = await published(store, publishOf('L'))
    t.deepEqual(await store.remove(removeOf('L')), { outcome: 'removed' })
    const picture = await Picture.of(store)
    t.is(picture.listings.size, 0)
    t.is(picture.publishers.size, 1)
    const second = await published(store, publishOf('L', { identity: BOB }))
    t.not(second.publisherId, first.publisherId)
    t.true(second.createdAt > first.createdAt)
  })

  test(`${name}: an unknown listing cannot be updated or removed`, async (t) => {
    const { store } = await open(t)
    t.deepEqual(await store.update(updateOf('L', { status: 'closed' })), { outcome: 'not_found' })
    t.deepEqual(await store.remove(removeOf('L')), { outcome: 'not_found' })
    t.deepEqual((await loaded(store)).changes, [])
  })

  test(`${name}: times rise strictly with every mutation`, async (t) => {
    const { store } = await open(t)
    const before = nowMicros()
    const receipts = await Promise.all(
      Array.from({ length: 50 }, (_, n) => published(store, publishOf(`L${n}`))),
    )
    const key = await store.addKey(keyNamed('k'))
    const last = await published(store, publishOf('L0'))
    const times = receipts.map(({ createdAt }) => createdAt)
    t.is(new Set(times).size, 50)
    t.true(key.createdAt > Math.max(...times))
    t.true(last.updatedAt > key.createdAt)
    const after = nowMicros() + 1000 // it is of a whole millisecond
    t.true(before <= Math.min(...times) && last.updatedAt < after, 'microseconds since the Unix epoch')
  })
}
