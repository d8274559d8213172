import test from 'ava'
import { USE_SECONDS } from '../../../../src/domain/listing.ts'
import { nowMicros } from '../../../../src/domain/timestamp.ts'
import type { UsedSignature } from '../../../../src/store/commands.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import {
  BOB,
  freshUse,
  loaded,
  type OpenStore,
  published,
  publishOf,
  removeOf,
  updateOf,
} from '../../../helpers/store/subject.ts'

/** The replay guard: the answer to a signature that comes again. */
export function replayContract(name: string, open: OpenStore): void {
  test(`${name}: a repeated publish gets its first answer while the listing is unchanged`, async (t) => {
    const { store } = await open(t)
    const command = publishOf('L', {
      fields: { offerResource: '{"v":1}' },
      storefrontUrl: 'https://a.example',
    })
    const first = await store.publish(command)
    await published(store, publishOf('M', { storefrontUrl: 'https://b.example' }))
    const before = await loaded(store)
    t.deepEqual(await store.publish(command), first)
    t.deepEqual(await loaded(store), before)
  })

  test(`${name}: a repeated publish is refused once its listing has changed or gone`, async (t) => {
    const { store } = await open(t)
    const command = publishOf('L')
    await published(store, command)
    const refused = async (when: string) => {
      const before = await loaded(store)
      t.deepEqual(await store.publish(command), SIGNATURE_REUSED, when)
      t.deepEqual(await loaded(store), before, when)
    }
    await store.update(updateOf('L', { status: 'closed' }))
    await refused('changed')
    await store.remove(removeOf('L'))
    await refused('gone')
    await published(store, publishOf('L', { identity: BOB }))
    await refused('of another publisher')
  })

  test(`${name}: a publish signature with another body is refused and changes nothing`, async (t) => {
    const { store } = await open(t)
    const command = publishOf('L')
    await published(store, command)
    const before = await loaded(store)
    const use = { ...command.use, body: 'another' }
    const again = { ...command, use, storefrontUrl: 'https://b.example', status: 'closed' as const }
    t.deepEqual(await store.publish(again), SIGNATURE_REUSED)
    t.deepEqual(await loaded(store), before)
  })

  test(`${name}: one signature publishes several listings of the same second`, async (t) => {
    const { store } = await open(t)
    const { signature, now } = freshUse()
    for (const id of ['L1', 'L2', 'L3'])
      t.truthy(await published(store, publishOf(id, { use: freshUse({ signature, now }) })))
    t.is((await Picture.of(store)).listings.size, 3)
  })

  test(`${name}: a publish signature is bound to the storefront URL of its first use`, async (t) => {
    const { store } = await open(t)
    const { now } = freshUse()
    const with_ = (signature: string, listingId: string, storefrontUrl: string | null) =>
      store.publish(publishOf(listingId, { storefrontUrl, use: freshUse({ signature, now }) }))
    const outcomes = async (signature: string, urls: (string | null)[]) => {
      const all = []
      // Ids fall, so that the first use is not also the first in the order of ids.
      for (const [n, url] of urls.entries())
        all.push((await with_(signature, `${signature}-${9 - n}`, url)).outcome)
      return all
    }
    t.deepEqual(
      await outcomes('s1', ['https://a.example', null, 'https://a.example', 'https://evil.example']),
      ['published', 'published', 'published', 'signature_reused'],
    )
    t.deepEqual(await outcomes('s2', [null, 'https://evil.example']), ['published', 'signature_reused'])
    const [publisher] = (await Picture.of(store)).publishers.values()
    t.is(publisher?.storefrontUrl, 'https://a.example')
  })

  test(`${name}: a signature publishes further listings for 5 s, wherever the clock is set`, async (t) => {
    const { store } = await open(t)
    const now = 1_000_000_000
    const with_ = (listingId: string, seconds: number) => {
      const use = freshUse({ signature: 'shared', body: listingId, now: now + seconds * SECOND })
      return publishOf(listingId, { use })
    }
    const first = await store.publish(with_('z', 0))
    for (const [id, seconds] of [
      ['y', 5],
      ['x', -5],
    ] as const)
      t.is((await store.publish(with_(id, seconds))).outcome, 'published', id)
    await published(store, publishOf('known'))
    const before = await loaded(store)
    for (const id of ['known', 'new'])
      for (const seconds of [6, -6])
        t.deepEqual(await store.publish(with_(id, seconds)), SIGNATURE_REUSED, id)
    t.deepEqual(await store.publish(with_('z', 60)), first, 'a repeat')
    t.deepEqual(await loaded(store), before)
  })

  test(`${name}: a signature that was first used with an API key publishes with that key only`, async (t) => {
    const { store } = await open(t)
    const { signature, now } = freshUse()
    const outcome = async (listingId: string, keyId: number | null, seconds: number) => {
      const use = freshUse({ signature, now: now + seconds * SECOND })
      return (await store.publish(publishOf(listingId, { keyId, use }))).outcome
    }
    t.is(await outcome('z', 7, 0), 'published')
    t.is(await outcome('y', 7, 200), 'published')
    t.is(await outcome('x', 8, 1), 'signature_reused')
    t.is(await outcome('z', 8, 1), 'signature_reused')
    t.is(await outcome('w', null, 1), 'published', 'keys are not needed any more')
    t.is(await outcome('v', null, 6), 'signature_reused')
    t.is(await outcome('u', 8, 1), 'signature_reused', 'the binding stays that of the first use')
  })

  test(`${name}: a repeated update gets its first answer until the listing changes`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L'))
    const close = updateOf('L', { status: 'closed' })
    const reopen = { ...close, status: 'open' as const, use: { ...close.use, body: 'another' } }
    const first = await store.update(close)
    const before = await loaded(store)
    t.deepEqual(await store.update(close), first)
    t.deepEqual(await store.update(reopen), SIGNATURE_REUSED)
    t.deepEqual(await loaded(store), before)
    await store.update(updateOf('L'))
    t.deepEqual(await store.update(close), SIGNATURE_REUSED)
  })

  test(`${name}: a repeated delete succeeds until the listing is published again`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L'))
    const command = removeOf('L')
    t.deepEqual(await store.remove(command), { outcome: 'removed' })
    t.deepEqual(await store.remove(command), { outcome: 'removed' })
    await published(store, publishOf('L'))
    const before = await loaded(store)
    t.deepEqual(await store.remove(command), SIGNATURE_REUSED)
    const other = { ...command, use: { ...command.use, body: 'another' } }
    t.deepEqual(await store.remove(other), SIGNATURE_REUSED)
    t.deepEqual(await loaded(store), before)
  })

  test(`${name}: repeats answer before not_found and not_owner, and these before reuse`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L'))
    const close = updateOf('L', { status: 'closed' })
    await store.update(close)
    await store.remove(removeOf('L'))
    t.deepEqual(await store.update(close), SIGNATURE_REUSED)
    const other = { ...close, use: { ...close.use, body: 'another' } }
    t.deepEqual(await store.update(other), { outcome: 'not_found' })
    await published(store, publishOf('L', { identity: BOB }))
    t.deepEqual(await store.update(close), SIGNATURE_REUSED)
    t.deepEqual(await store.update(other), { outcome: 'not_owner' })
  })

  test(`${name}: a refused use is not remembered`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L'))
    const publish = publishOf('L', { identity: BOB })
    const remove = removeOf('M')
    t.is((await store.publish(publish)).outcome, 'not_owner')
    t.is((await store.remove(remove)).outcome, 'not_found')
    await store.remove(removeOf('L'))
    await published(store, publishOf('M'))
    t.is((await store.publish(publish)).outcome, 'published')
    t.is((await store.remove(remove)).outcome, 'removed')
    t.deepEqual([...(await Picture.of(store)).listings.keys()], ['L'])
  })

  test(`${name}: uses of one signature for different operations are independent`, async (t) => {
    const { store } = await open(t)
    const use = freshUse()
    t.is((await store.publish(publishOf('L', { use }))).outcome, 'published')
    t.is((await store.update(updateOf('L', { use, status: 'closed' }))).outcome, 'updated')
    t.is((await store.remove(removeOf('L', { use }))).outcome, 'removed')
  })

  test(`${name}: hasUse finds a use by signature, operation and listing`, async (t) => {
    const { store } = await open(t)
    const use = freshUse()
    const command = publishOf('L', { use })
    const { signature } = use
    const key = { operation: 'publish', listingId: 'L', signature } as const
    t.false(await store.hasUse(key))
    await published(store, command)
    t.true(await store.hasUse(key))
    t.false(await store.hasUse({ ...key, listingId: 'M' }))
    t.false(await store.hasUse({ ...key, operation: 'update' }))
    t.false(await store.hasUse({ ...key, signature: 'another' }))
  })

  test(`${name}: a use that has expired stays used after the clock is set back`, async (t) => {
    const { store } = await open(t)
    const use = freshUse({ expiresAt: 200, now: 100 })
    const command = publishOf('L', { use })
    await published(store, command)
    await published(store, publishOf('M', { use: freshUse({ expiresAt: 1300, now: 1200 }) }))
    const before = await loaded(store)
    const other = { ...use, body: 'another' }
    t.deepEqual(await store.publish({ ...command, use: other }), SIGNATURE_REUSED)
    t.deepEqual(await loaded(store), before)
    const newer = freshUse({ expiresAt: 201, now: 101 })
    t.is((await store.publish(publishOf('N', { use: newer }))).outcome, 'published')
  })

  test(`${name}: a clock that was ahead refuses no other signature, and its own uses stay used`, async (t) => {
    const { store } = await open(t)
    const start = nowMicros()
    const at = (seconds: number) => {
      const now = start + seconds * SECOND
      return freshUse({ now, expiresAt: now + USE_SECONDS * SECOND })
    }
    const [before, ahead, aheadLater] = [at(0), at(DAY), at(DAY + 720)]
    await published(store, publishOf('before', { use: before }))
    await published(store, publishOf('ahead', { use: ahead }))
    await published(store, publishOf('ahead later', { use: aheadLater }))

    await published(store, publishOf('right again', { use: at(20) }))
    await published(store, publishOf('right again', { use: at(800) }))
    await store.ping()
    const rows = await loaded(store)
    const refused = async (used: UsedSignature, seconds: number) => {
      const use = { ...used, body: 'another', now: start + seconds * SECOND }
      for (const id of ['before', 'ahead', 'new'])
        t.deepEqual(await store.publish(publishOf(id, { use })), SIGNATURE_REUSED, id)
      t.deepEqual(await loaded(store), rows)
    }
    await refused(before, 20)
    await refused(ahead, DAY - 300)
    await refused(aheadLater, DAY + 420)
    await published(store, publishOf('a day later', { use: at(DAY) }))
  })

  test(`${name}: spent signatures are bounded, and what may be a dropped one is refused`, async (t) => {
    const { store } = await open(t, { usesKept: 10 })
    const start = nowMicros()
    const expiring = (seconds: number, now = start) =>
      freshUse({ expiresAt: start + seconds * SECOND, now, signature: `expires after ${seconds} s` })
    const LAST = 1500
    for (let seconds = 10; seconds <= LAST; seconds += 10)
      await published(store, publishOf('L', { use: expiring(seconds) }))
    // Enough of them to drop what is too much.
    for (let n = 0; n < 20; n++)
      await store.remove(removeOf('nothing', { use: expiring(3000, start + 2000 * SECOND) }))
    const outcome = async (seconds: number, signature: string) =>
      (await store.publish(publishOf('M', { use: { ...expiring(seconds), signature } }))).outcome
    for (const seconds of [10, 500, 980])
      t.is(await outcome(seconds, `expires after ${seconds} s`), 'signature_reused', `${seconds}`)
    t.is(await outcome(900, 'unknown'), 'signature_reused')
    t.is(await outcome(LAST + 1, 'unknown'), 'published')
    await t.throwsAsync(store.ping(), {
      code: 'unavailable',
      message: /the clock is \d+ min behind signatures that were used .* is refused; set the clock right/,
    })
  })
}

const SECOND = 1_000_000
const DAY = 86_400

const SIGNATURE_REUSED = { outcome: 'signature_reused' } as const
