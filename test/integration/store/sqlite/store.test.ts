import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { openSqliteStore, type SqliteOptions } from '../../../../src/store/sqlite/store.ts'
import { temporaryFolder } from '../../../helpers/run-cli.ts'
import type { OpenStore } from '../../../helpers/store/subject.ts'
import { frozenContract } from '../contract/frozen.ts'
import { keyUseContract } from '../contract/key-uses.ts'
import { sharedStoreContract, storeContract } from '../contract.ts'

const openInMemory: OpenStore = async (t, options) => {
  const store = openSqliteStore(':memory:', options)
  t.teardown(() => store.close())
  return { store, another: () => Promise.reject(new Error('a store in memory cannot be shared')) }
}

const openFile: OpenStore = async (t, options) => {
  const path = join(temporaryFolder(t), 'new', 'entrepot.db')
  return { store: opened(t, path, options), another: async () => opened(t, path, options) }
}

function opened(t: ExecutionContext, path: string, options?: SqliteOptions) {
  const store = openSqliteStore(path, options)
  t.teardown(() => store.close())
  return store
}

keyUseContract('sqlite file', async (t) => {
  const path = join(temporaryFolder(t), 'entrepot.db')
  return { one: opened(t, path).keyUses, other: opened(t, path).keyUses }
})
storeContract('sqlite in memory', openInMemory, 200)
sharedStoreContract('sqlite file', openFile, 20)
frozenContract('sqlite in memory', openInMemory, 2)
