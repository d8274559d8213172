import { objectMembers } from '../src/json/members.ts'
import type { PublishCommand } from '../src/store/commands.ts'
import { openRedisStore } from '../src/store/redis/open.ts'
import { openSqliteStore } from '../src/store/sqlite/store.ts'
import type { Store } from '../src/store/store.ts'
import { generateListings } from './generate-listings.ts'

/** Concurrent mutations. */
const BATCH = 2000

/** Puts generated listings into a store, without HTTP and signatures. */
export async function fillStore(url: string, listings: number, seed = 1): Promise<void> {
  const store: Store = url.startsWith('sqlite:')
    ? openSqliteStore(url.slice('sqlite:'.length))
    : (await openRedisStore(url)).store
  let batch: Promise<unknown>[] = []
  let n = 0
  for (const entry of generateListings(listings, seed)) {
    batch.push(store.publish(commandFor(entry.bytes, entry.key, entry.seller, n++)))
    if (batch.length < BATCH) continue
    await Promise.all(batch)
    batch = []
  }
  await Promise.all(batch)
  await store.close()
}

/** Expired signatures, so that the store keeps no replay guard for them. */
function commandFor(bytes: Uint8Array, listingId: string, publisherId: number, n: number): PublishCommand {
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
    maxListings: 0,
    keyId: null,
    use: { signature: n.toString(16).padStart(64, '0'), body: '0'.repeat(64), expiresAt: 1, now: 0 },
  }
}
