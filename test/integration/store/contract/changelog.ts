import test from 'ava'
import { listingFrom } from '../../../../src/domain/listing-row.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import {
  BOB,
  keyNamed,
  loaded,
  type OpenStore,
  published,
  publishOf,
  removeOf,
  replayed,
  updateOf,
} from '../../../helpers/store/subject.ts'

/** Listings of more than two reads: one may be ahead of the visit. */
const PAGES = 2300

/** Load, replay, notification, and the ends of a store's life. */
export function changelogContract(name: string, open: OpenStore): void {
  test(`${name}: a load has every listing once, also while they change, and the changes after it have the rest`, async (t) => {
    const { store } = await open(t)
    const ids = Array.from({ length: PAGES }, (_, n) => `L${n}`)
    await Promise.all(ids.map((id) => published(store, publishOf(id))))
    const visited: string[] = []
    const changed: string[] = []
    const picture = new Picture()
    const position = await store.load({
      change: (change) => {
        picture.apply(change)
        if (change.kind === 'listing') changed.push(change.record.listingId)
      },
      listings: async (page) => {
        const isFirst = visited.length === 0
        for (const record of page.map(listingFrom)) {
          visited.push(record.listingId)
          picture.apply({ kind: 'listing', record })
        }
        if (!isFirst) return
        await Promise.all(ids.slice(-50).map((id) => store.update(updateOf(id))))
        await published(store, publishOf(visited[0]!, { status: 'closed' }))
        await store.remove(removeOf(visited[1]!))
        await published(store, publishOf('late', { identity: BOB }))
      },
    })
    t.is(new Set(visited).size, visited.length)
    t.deepEqual([...new Set([...visited, ...changed])].sort(), ids.toSorted())
    for (const change of (await replayed(store, position)).changes) picture.apply(change)
    t.deepEqual(picture.sorted(), (await Picture.of(store)).sorted())
  })

  test(`${name}: an unknown position is lost`, async (t) => {
    const { store } = await open(t)
    await published(store, publishOf('L'))
    for (const position of ['', 'nonsense', '-1', '999999999999999', '9999999999999999-1'])
      t.is(await store.changesAfter(position, 10), 'lost', position)
  })

  test(`${name}: the changelog is bounded, and only old positions are lost`, async (t) => {
    const { store } = await open(t, { removedKept: 100 })
    await published(store, publishOf('first'))
    const { position: old } = await loaded(store)
    for (let n = 0; n < 24; n++) {
      await Promise.all(Array.from({ length: 100 }, (_, m) => published(store, publishOf(`L${n} ${m}`))))
      await Promise.all(Array.from({ length: 100 }, (_, m) => store.remove(removeOf(`L${n} ${m}`))))
    }
    const { position } = await loaded(store)
    await Promise.all(Array.from({ length: 50 }, (_, m) => published(store, publishOf(`L${m}`))))
    for (const limit of [10, 10_000]) t.is(await store.changesAfter(old, limit), 'lost', `${limit}`)
    t.is((await replayed(store, position)).changes.length, 50)
  })

  test(`${name}: every listener is notified of changes until it unsubscribes`, async (t) => {
    const { store } = await open(t)
    let calls = 0
    const count = () => {
      calls++
    }
    const stopOne = store.onChange(count)
    stopOne()
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = store.onChange(resolve)
    await published(store, publishOf('L'))
    await promise
    stop()
    t.is(calls, 0)
  })

  test(`${name}: close waits for calls in flight, and later ones are unavailable`, async (t) => {
    const { store } = await open(t)
    await t.notThrowsAsync(store.ping())
    const last = store.publish(publishOf('L'))
    await store.close()
    await store.close()
    t.is((await last).outcome, 'published')
    const unavailable = { name: 'EntrepotError', code: 'unavailable' }
    await t.throwsAsync(store.publish(publishOf('M')), unavailable)
    await t.throwsAsync(store.addKey(keyNamed('alice')), unavailable)
    await t.throwsAsync(store.ping(), unavailable)
    await t.throwsAsync(store.changesAfter('0', 1), unavailable)
    await t.throwsAsync(loaded(store), unavailable)
  })
}
