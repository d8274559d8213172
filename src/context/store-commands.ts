import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { MintedKey, StoreCheck, StoreCounts } from '../cli/command.ts'
import { CliError, EXIT, usageError } from '../cli/exit-codes.ts'
import { sqlitePath } from '../config/settings.ts'
import { type ApiKey, describeKey, opensGates } from '../domain/api-key.ts'
import type { NewAuditEntry } from '../domain/audit.ts'
import { USE_SECONDS } from '../domain/listing.ts'
import { redactCredentials } from '../domain/safe-text.ts'
import { nowMicros } from '../domain/timestamp.ts'
import { ConfigError, EntrepotError } from '../errors.ts'
import { createKey } from '../registry/api-keys.ts'
import type { Change, NewKey } from '../store/commands.ts'
import { type CopySource, type CopyTarget, copyStore } from '../store/copy.ts'
import { createFolderOf, databaseFile } from '../store/sqlite/database-file.ts'
import type { Store } from '../store/store.ts'
import { KEEPS_ALL, localAct } from './local-acts.ts'

/**
 * Opens a store as a start would, and creates no database file. Gives what an operator should know of it.
 * @throws ConfigError or EntrepotError for a store that cannot be used
 */
export async function checkStore(url: string): Promise<StoreCheck> {
  const path = sqlitePath(url)
  const { store, warnings } =
    path === null
      ? await (await import('../store/redis/open.ts')).openRedisStore(url)
      : (await import('../store/sqlite/store.ts')).checkSqliteStore(path)
  try {
    return { warnings, keys: store === null ? [] : await readKeys(store) }
  } finally {
    await store?.close()
  }
}

/** A load visits keys before listings, and ends with the first ones. */
async function readKeys(store: Pick<Store, 'load'>): Promise<ApiKey[]> {
  const keys: ApiKey[] = []
  const hasListings = new Error('the keys are read')
  const change = (one: Change): void => {
    if (one.kind === 'key' && opensGates(one.key)) keys.push(one.key)
  }
  const listings = (): void => {
    throw hasListings
  }
  await store.load({ change, listings }).catch((cause: unknown) => {
    if (cause !== hasListings) throw cause
  })
  return keys
}

/**
 * Copies the store to a new SQLite file, and gives its size in bytes.
 * @throws CliError, ConfigError or EntrepotError; then there is no file
 */
export async function backupStore(url: string, file: string): Promise<StoreCounts & { bytes: number }> {
  const path = resolve(file)
  const taken = takenBy(path)
  if (taken !== '') throw usageError(`existing files are not overwritten: ${taken}; name another file`)
  const copy = () =>
    copyStore(
      () => openSource(url),
      () => createFile(path),
    )
  const counts = await reportingWrites(path, copy).catch(async (cause: unknown) => {
    await record(url, localAct('backup', path, cause instanceof EntrepotError ? cause.code : 'failed'))
    throw cause
  })
  await record(url, localAct('backup', path, 'ok'))
  return { ...counts, bytes: statSync(path).size }
}

/** Where the store can be written. */
async function record(url: string, act: NewAuditEntry): Promise<void> {
  try {
    await usingStore(url, (store) => store.appendAudit(act, KEEPS_ALL))
  } catch {
    // What was done is good without its record.
  }
}

/**
 * Mints a key into the store itself: also an admin key, and while the service is away.
 * @throws ConfigError or EntrepotError for a store that cannot be used
 */
export function mintKey(url: string, fields: Omit<NewKey, 'hash'>): Promise<MintedKey> {
  return usingStore(url, async (store) => {
    const { raw, hash } = createKey()
    const key = await store.addKey({ ...fields, hash })
    await store.appendAudit(localAct('key.mint', describeKey(key), 'ok'), KEEPS_ALL)
    return { id: key.id, raw }
  })
}

/** Of a store that is there. */
async function usingStore<T>(url: string, use: (store: Store) => Promise<T>): Promise<T> {
  const path = databaseOf(url)
  if (path !== null && !existsSync(path))
    throw unusable(`${path} does not exist: start the service once, or correct STORE_URL`)
  const store =
    path === null
      ? (await (await import('../store/redis/open.ts')).openRedisStore(url, { mustExist: true })).store
      : (await import('../store/sqlite/store.ts')).openSqliteStore(path)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/**
 * Copies such a file to a store that does not exist yet. The store refuses requests that were signed before the restore:
 * it may have accepted them after the backup.
 * @throws CliError, ConfigError or EntrepotError; then there is no store
 */
export async function restoreStore(file: string, url: string): Promise<StoreCounts> {
  const signedBefore = nowMicros() + USE_SECONDS * 1_000_000
  const counts = await reportingWrites(redactCredentials(url), () =>
    copyStore(
      () => openBackup(file),
      () => createStore(url),
      signedBefore,
    ),
  )
  await record(url, localAct('restore', resolve(file), 'ok'))
  return counts
}

async function openSource(url: string): Promise<CopySource> {
  const path = databaseOf(url)
  if (path !== null) return (await import('../store/sqlite/store.ts')).readSqliteRows(path)
  const { openRedisStore } = await import('../store/redis/open.ts')
  return (await openRedisStore(url, { mustExist: true })).store.rows
}

async function openBackup(file: string): Promise<CopySource> {
  const [{ readSqliteRows }, { OtherVersion }] = await Promise.all([
    import('../store/sqlite/store.ts'),
    import('../store/sqlite/database.ts'),
  ])
  try {
    return readSqliteRows(file)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    const code = cause instanceof OtherVersion ? EXIT.badConfig : EXIT.badData
    throw new CliError(code, cause.problems.map(({ message }) => message).join('; '), { cause })
  }
}

async function createStore(url: string): Promise<CopyTarget> {
  const path = databaseOf(url)
  if (path === null) return (await import('../store/redis/copy.ts')).createRedisCopy(url)
  const taken = takenBy(path)
  if (taken !== '')
    throw unusable(`existing files are not overwritten: ${taken}; stop the service and move them away`)
  createFolderOf(path)
  return createFile(path)
}

async function createFile(path: string): Promise<CopyTarget> {
  return new (await import('../store/sqlite/copy.ts')).SqliteCopy(path)
}

/** `null` for Redis. */
function databaseOf(url: string): string | null {
  const path = sqlitePath(url)
  if (path === null) return null
  if (path === ':memory:') throw unusable('a store in memory ends with its process: name a file')
  return databaseFile(path)
}

/** SQLite would read the log of an earlier file as a part of the new one. */
const takenBy = (path: string): string =>
  [path, `${path}-wal`, `${path}-journal`].filter((file) => existsSync(file)).join(', ')

const unusable = (message: string): ConfigError => new ConfigError([{ path: 'STORE_URL', message }])

/** Errors of the file system and of SQLite are about what is written: a source has its own. */
async function reportingWrites<T>(place: string, copy: () => Promise<T>): Promise<T> {
  try {
    return await copy()
  } catch (cause) {
    const isOfSystem = cause instanceof Error && 'code' in cause && !(cause instanceof EntrepotError)
    if (!isOfSystem) throw cause
    throw new CliError(EXIT.outputError, `${place} cannot be written: ${cause.message}`, { cause })
  }
}
