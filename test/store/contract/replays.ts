import test from 'ava'
import { Picture } from './picture.ts'
import { BOB, freshUse, loaded, type OpenStore, published, publishOf, removeOf, updateOf } from './subject.ts'

/** What a signature is good for a second time (`protocol.md` 8, Replay). */
export const replayContract = (name: string, open: OpenStore): void => {
  test(`${name}: the very same publish again is answered as the first time and changes nothing`, async (t) => {
    const { store } = await open(t)
    const command = publishOf('L', { fields: { offerResource: '{"v":1}' } })
    const first = await store.publish(command)
    await published(store, publishOf('L', { fields: { offerResource: '{"v":2}' }, status: 'closed' }))
    const before = await loaded(store)
    t.deepEqual(await store.publish(command), first)
    t.deepEqual(await loaded(store), before)
  })

  test(`${name}: a publish repeated after the listing was removed does not bring it back`, async (t) => {
    const { store } = await open(t)
    const command = publishOf('L')
    const first = await store.publish(command)
    await store.remove(removeOf('L'))
    t.deepEqual(await store.publish(command), first)
    t.is((await Picture.of(store)).listings.size, 0)
    await published(store, publishOf('L', { identity: BOB }))
    t.deepEqual(await store.publish(command), first)
  })

  test(`${name}: a publish signature with another body for its listing is refused and changes nothing`, async (t) => {
    const { store } = await open(t)
    const command = publishOf('L')
    await published(store, command)
    const before = await loaded(store)
    const use = { ...command.use, body: 'another' }
    const again = { ...command, use, storefrontUrl: 'https://b.example', status: 'closed' as const }
    t.deepEqual(await store.publish(again), { outcome: 'signature_reused' })
    t.deepEqual(await loaded(store), before)
  })

  test(`${name}: one signature publishes several listings of the same second`, async (t) => {
    const { store } = await open(t)
    const { signature } = freshUse()
    for (const id of ['L1', 'L2', 'L3'])
      t.truthy(await published(store, publishOf(id, { use: freshUse({ signature }) })))
    t.is((await Picture.of(store)).listings.size, 3)
  })

  test(`${name}: a publish signature brings the storefront URL of its first use or none`, async (t) => {
    const { store } = await open(t)
    const with_ = (signature: string, listingId: string, storefrontUrl: string | null) =>
      store.publish(publishOf(listingId, { storefrontUrl, use: freshUse({ signature }) }))
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

  test(`${name}: an update repeated is answered as the first time, with another body it is refused`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L'))
    const close = updateOf('L', { status: 'closed' })
    const first = await store.update(close)
    await store.update(updateOf('L', { status: 'open' }))
    const before = await loaded(store)
    t.deepEqual(await store.update(close), first)
    const reopen = { ...close, status: 'open' as const, use: { ...close.use, body: 'another' } }
    t.deepEqual(await store.update(reopen), { outcome: 'signature_reused' })
    t.deepEqual(await loaded(store), before)
  })

  test(`${name}: a used delete signature removes nothing that was published after it`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L'))
    const command = removeOf('L')
    t.deepEqual(await store.remove(command), { outcome: 'removed' })
    t.deepEqual(await store.remove(command), { outcome: 'removed' })
    await published(store, publishOf('L'))
    const before = await loaded(store)
    t.deepEqual(await store.remove(command), { outcome: 'removed' })
    const other = { ...command, use: { ...command.use, body: 'another' } }
    t.deepEqual(await store.remove(other), { outcome: 'signature_reused' })
    t.deepEqual(await loaded(store), before)
  })

  test(`${name}: a repeat comes before not_found, not_found and not_owner before a reused signature`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L'))
    const close = updateOf('L', { status: 'closed' })
    const first = await store.update(close)
    await store.remove(removeOf('L'))
    t.deepEqual(await store.update(close), first)
    const other = { ...close, use: { ...close.use, body: 'another' } }
    t.deepEqual(await store.update(other), { outcome: 'not_found' })
    await published(store, publishOf('L', { identity: BOB }))
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

  test(`${name}: uses of one signature for different operations do not meet`, async (t) => {
    const { store } = await open(t)
    const use = freshUse()
    t.is((await store.publish(publishOf('L', { use }))).outcome, 'published')
    t.is((await store.update(updateOf('L', { use, status: 'closed' }))).outcome, 'updated')
    t.is((await store.remove(removeOf('L', { use }))).outcome, 'removed')
  })

  test(`${name}: an expired use is forgotten`, async (t) => {
    const { store } = await open(t)
    const expired = { signature: freshUse().signature, expiresAt: 1 }
    await published(store, publishOf('L', { use: freshUse(expired) }))
    const again = publishOf('L', { use: freshUse(expired), storefrontUrl: 'https://a.example' })
    t.is((await store.publish(again)).outcome, 'published')
  })
}
