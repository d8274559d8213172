import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { SavedSnapshot, SnapshotKeeping } from '../domain/saved-snapshot.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { snapshotFile } from '../upstream/snapshot-file.ts'
import type { Foundation } from './foundation.ts'
import type { Opened } from './shared-parts.ts'

/** Where snapshots outlive their process, and the configuration that they were made in. */
export type Keeping = {
  of: (upstream: UpstreamOptions) => HandedOver
  /** Goes by this configuration's `cache.max_bytes` from now on. */
  fit: (config: Config) => void
}

/** The keeping of one snapshot, which is told when there is something to hand over, and when no more. */
export type HandedOver = SnapshotKeeping & {
  begin: (saved: () => SavedSnapshot | null) => void
  end: () => void
}

/**
 * Snapshots are saved with the store: beside the database, or in the Redis that replicas share. Where the settings of
 * an upstream have changed, what was held under the old ones is handed over as it is; the newest alone saves.
 */
export const openKeeping = async (config: Config, foundation: Foundation): Promise<Opened<Keeping>> => {
  let current = config
  const { storeOf, close } = await openStores(foundation, config, () =>
    Math.floor(current.cache.maxBytes / current.upstreams.length),
  )
  const holders = new Map<string, Holder[]>()
  return {
    value: {
      of: (upstream) => {
        const before = holders.get(upstream.name) ?? []
        holders.set(upstream.name, before)
        return handedOver(upstream, storeOf(upstream), before)
      },
      fit: (next) => {
        current = next
      },
    },
    close,
  }
}

type Holder = { identity: string; saved: () => SavedSnapshot | null }

/** @param holders all that are open under that name, the newest last */
const handedOver = (
  { url, kind, key }: UpstreamOptions,
  store: SnapshotKeeping | null,
  holders: Holder[],
): HandedOver => {
  // What one credential is shown, another may not be.
  const identity = JSON.stringify([url, kind, key])
  const own: Holder = { identity, saved: () => null }
  const before = holders.findLast((holder) => holder.identity === identity)
  holders.push(own)
  return {
    load: async () => before?.saved() ?? (await store?.load()) ?? null,
    save: async (snapshot) => {
      if (holders.at(-1) === own) await store?.save(snapshot)
    },
    begin: (saved) => {
      own.saved = saved
    },
    end: () => void holders.splice(holders.indexOf(own), 1),
  }
}

type StoreOf = (upstream: Pick<UpstreamOptions, 'name' | 'url'>) => SnapshotKeeping | null

const openStores = async (
  { redisUrl, snapshotFolder }: Foundation,
  { upstreams }: Config,
  maxBytes: () => number,
): Promise<{ storeOf: StoreOf; close: () => void }> => {
  if (snapshotFolder !== null)
    return {
      storeOf: ({ name, url }) => snapshotFile(join(snapshotFolder, `${name}.json`), url),
      close: () => {},
    }
  if (redisUrl === null || !upstreams.some(({ mode }) => mode === 'snapshot'))
    return { storeOf: () => null, close: () => {} }
  const [{ redisSnapshot }, { commandClient, connected }] = await Promise.all([
    import('../cache/redis-snapshot.ts'),
    import('../store/redis-connection.ts'),
  ])
  const client = commandClient(redisUrl)
  // The store is there by now; where this connection is not, nothing is saved, and the log tells.
  await connected(client).catch(() => {})
  return {
    storeOf: ({ name, url }) => redisSnapshot({ client, key: `entrepot:snapshot:${name}`, url, maxBytes }),
    close: () => client.disconnect(),
  }
}
