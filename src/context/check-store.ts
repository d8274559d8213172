/**
 * Opens a store as a start would, and creates no database file. Gives what an operator should know of it.
 * @throws ConfigError or EntrepotError for a store that cannot be used
 */
export async function checkStore(url: string): Promise<readonly string[]> {
  if (url.startsWith(SQLITE)) {
    const { checkDatabase } = await import('../store/sqlite/database.ts')
    return checkDatabase(url.slice(SQLITE.length))
  }
  const { openRedisStore } = await import('../store/redis/open.ts')
  const { store, warnings } = await openRedisStore(url)
  await store.close()
  return warnings
}

const SQLITE = 'sqlite:'
