import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import type { PublisherIdentity } from '../../../../src/domain/publisher.ts'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import type { StoreOptions } from '../../../../src/store/store.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import { type OpenStore, published, publishOf } from '../../../helpers/store/subject.ts'
import { equivalenceContract } from '../contract/equivalence.ts'
import { frozenContract } from '../contract/frozen.ts'
import { keyUseContract } from '../contract/key-uses.ts'
import { storeContract } from '../contract.ts'

const openInMemory: OpenStore = async (t, options) => {
  const store = openSqliteStore(':memory:', options)
  t.teardown(() => store.close())
  return { store, another: () => Promise.reject(new Error('a store in memory cannot be shared')) }
}

const openFile: OpenStore = async (t, options) => {
  const path = join(temporaryFolder(t), 'new', 'entrepot.db')
  return { store: opened(t, path, options), another: async () => opened(t, path, options) }
}

function opened(t: ExecutionContext, path: string, options?: StoreOptions) {
  const store = openSqliteStore(path, options)
  t.teardown(() => store.close())
  return store
}

test('sqlite: sellers who begin at once are read at once', async (t) => {
  const { store } = await openInMemory(t)
  const { rows } = store
  const get = rows.get.bind(rows)
  let reads = 0
  rows.get = (places) => {
    reads++
    return get(places)
  }
  const identities = Array.from({ length: 100 }, (_, n) => ({ scheme: 'eip191', identifier: `0x${n}` }))
  const publish = (identity: PublisherIdentity, n: number) =>
    published(store, publishOf(`L${n}`, { identity }))
  await Promise.all(identities.map(publish))
  t.is(reads, 1)
  await Promise.all(identities.map(publish))
  t.is(reads, 2)
})

keyUseContract('sqlite file', async (t) => {
  const path = join(temporaryFolder(t), 'entrepot.db')
  return { one: opened(t, path).keyUses, other: opened(t, path).keyUses }
})
storeContract('sqlite file', openFile, 20)
equivalenceContract('sqlite in memory', openInMemory, 200)
frozenContract('sqlite in memory', openInMemory, 2)
