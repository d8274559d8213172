import test from 'ava'
import { keyNamed, loaded, type OpenStore } from '../../../helpers/store/subject.ts'

export function keyContract(name: string, open: OpenStore): void {
  test(`${name}: new keys are active, numbered in order and part of a load`, async (t) => {
    const { store } = await open(t)
    const alice = await store.addKey(keyNamed('alice', { scope: 'write' }))
    const blank = await store.addKey(keyNamed(''))
    t.like(alice, { name: 'alice', scope: 'write', hash: 'hash of alice', expiresAt: null, revokedAt: null })
    t.true(blank.id > alice.id)
    t.deepEqual((await loaded(store)).changes, [
      { kind: 'key', key: alice },
      { kind: 'key', key: blank },
    ])
  })

  test(`${name}: a key keeps its expiry and its view, in a load and when it is revoked`, async (t) => {
    const { store } = await open(t)
    const key = await store.addKey(keyNamed('alice', { expiresAt: 1_800_000_000_000_000, view: 'partners' }))
    t.is(key.expiresAt, 1_800_000_000_000_000)
    t.deepEqual((await loaded(store)).changes, [{ kind: 'key', key }])
    t.like(await store.revokeKey(key.id), { expiresAt: key.expiresAt, view: 'partners' })
  })

  test(`${name}: revoking a key again keeps the first revokedAt`, async (t) => {
    const { store } = await open(t)
    const key = await store.addKey(keyNamed('alice'))
    const revoked = await store.revokeKey(key.id)
    t.true(revoked!.revokedAt! > key.createdAt)
    t.deepEqual(revoked, { ...key, revokedAt: revoked!.revokedAt })
    const before = await loaded(store)
    t.deepEqual(await store.revokeKey(key.id), revoked)
    t.deepEqual(await loaded(store), before)
    t.true((await store.addKey(keyNamed('bob'))).id > key.id)
  })

  test(`${name}: a key that is replaced expires at the given time or before, and the new one is its own`, async (t) => {
    const { store } = await open(t)
    const alice = await store.addKey(keyNamed('alice', { view: 'partners' }))
    const added = await store.replaceKey(alice.id, 2_000_000_000_000_000, keyNamed('new', { view: 'eu' }))
    t.like(added, { name: 'new', view: 'eu', expiresAt: null, revokedAt: null })
    t.true(added!.id > alice.id)
    const ended = { ...alice, expiresAt: 2_000_000_000_000_000 }
    const keys = async () => (await loaded(store)).changes
    t.deepEqual(await keys(), [
      { kind: 'key', key: ended },
      { kind: 'key', key: added! },
    ])
    await store.replaceKey(alice.id, 3_000_000_000_000_000, keyNamed('newer'))
    t.deepEqual((await keys())[0], { kind: 'key', key: ended })
    await store.revokeKey(alice.id)
    for (const id of [alice.id, 999]) t.is(await store.replaceKey(id, 1, keyNamed('none')), null)
    t.is((await keys()).length, 3)
  })

  test(`${name}: an unknown key cannot be revoked`, async (t) => {
    const { store } = await open(t)
    for (const id of [0, 1, -1, 999, 2 ** 52]) t.is(await store.revokeKey(id), null)
    t.deepEqual((await loaded(store)).changes, [])
  })

  test(`${name}: seedKey adds a key only to a store that never had one`, async (t) => {
    const { store } = await open(t)
    const seeds = await Promise.all(
      Array.from({ length: 5 }, () => store.seedKey(keyNamed('bootstrap', { scope: 'write' }))),
    )
    const [key] = seeds.filter((seed) => seed !== null)
    t.is(seeds.filter((seed) => seed !== null).length, 1)
    await store.revokeKey(key!.id)
    t.is(await store.seedKey(keyNamed('again')), null)
    t.is((await loaded(store)).changes.length, 1)
  })
}
