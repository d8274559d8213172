import { objectMembers } from '../src/domain/json.ts'
import { openRedisStore } from '../src/store/redis.ts'
import { openSqliteStore } from '../src/store/sqlite.ts'
import type { PublishCommand, Store } from '../src/store/store.ts'
import type { Bench } from './bench.ts'
import { startEntrepot } from './children.ts'
import { generateListings } from './generate-listings.ts'
import { type BenchStore, benchStores } from './stores.ts'

const LISTINGS = 1_000_000
/** Mutations under way at once while the store is filled. */
const BATCH = 2000
const BUDGET: Readonly<Record<string, string>> = { SQLite: '100,000', Redis: '60,000' }

export const load: Bench = {
  name: 'load',
  what: `start of a Registry with ${LISTINGS.toLocaleString('en')} listings, from the process's start to its first answer`,
  run: async () => {
    const rows = []
    for (const store of await benchStores()) {
      await fill(store)
      const started = performance.now()
      const entrepot = await startEntrepot({ STORE_URL: store.url, ENTREPOT_CONFIG: store.config })
      const ready = await fetch(`${entrepot.url}/listings?limit=1`)
      const seconds = (performance.now() - started) / 1000
      const { total_after_filter: open } = (await ready.json()) as { total_after_filter: number }
      rows.push({
        store: store.name,
        'open listings': open,
        seconds,
        'listings/s': LISTINGS / seconds,
        budget: BUDGET[store.name] ?? '',
      })
      await entrepot.close()
      await store.close()
    }
    return rows
  },
}

const fill = async ({ url }: BenchStore): Promise<void> => {
  const store: Store = url.startsWith('sqlite:')
    ? openSqliteStore(url.slice('sqlite:'.length))
    : (await openRedisStore(url)).store
  let batch: Promise<unknown>[] = []
  let n = 0
  for (const entry of generateListings(LISTINGS)) {
    batch.push(store.publish(commandFor(entry.bytes, entry.listingId, entry.publisherId, n++)))
    if (batch.length < BATCH) continue
    await Promise.all(batch)
    batch = []
  }
  await Promise.all(batch)
  await store.close()
}

/** Signatures that are over already, so that the store keeps no guard for them. */
const commandFor = (bytes: Uint8Array, listingId: string, publisherId: number, n: number): PublishCommand => {
  const text = new Map(
    objectMembers(bytes).map(({ name, value }) => [
      name,
      Buffer.from(bytes.subarray(value.start, value.end)).toString(),
    ]),
  )
  return {
    identity: { scheme: 'eip191', identifier: `0x${publisherId.toString(16).padStart(40, '0')}` },
    listingId,
    storefrontUrl: null,
    fields: {
      offerResource: text.get('offer_resource')!,
      acceptedEscrows: text.get('accepted_escrows')!,
      demands: text.get('demands')!,
    },
    status: 'open',
    use: { signature: n.toString(16).padStart(64, '0'), body: '0'.repeat(64), expiresAt: 1 },
  }
}
