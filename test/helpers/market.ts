import type { ExecutionContext } from 'ava'
import { type Reply, type RunningService, startRegistry } from './registry.ts'
import { ALICE, publish, remove, unixNow, update } from './seller.ts'

/** When these tests began. */
export const FIXED_TIME = unixNow()

/**
 * A Registry with a stopped clock, and a seller's requests to it, each a second later than the one before, or with a timestamp of its own:
 * however long a test takes, no signature is one of another listing.
 */
export type Market = RunningService & {
  publish: (fields: Record<string, unknown>, at?: number, seller?: typeof ALICE) => Promise<Reply>
  update: (id: string, fields: Record<string, unknown>, at?: number, seller?: typeof ALICE) => Promise<Reply>
  remove: (id: string, at?: number, seller?: typeof ALICE) => Promise<Reply>
  /** The listing's row; `null` without one. */
  listing: (id: string) => Promise<Record<string, unknown> | null>
}

type Options = Parameters<typeof startRegistry>[1]

/** @param toml default: no shape is checked */
export async function openMarket(t: ExecutionContext, options: Options = {}): Promise<Market> {
  const registry = await startRegistry(t, {
    toml: '[registry]\nlisting_shape = "off"\n[limits]\npublish_per_minute = 0',
    nowSeconds: () => FIXED_TIME,
    ...options,
  })
  const { url, get } = registry
  // Earlier than those that tests name.
  let next = FIXED_TIME - 290
  return {
    ...registry,
    publish: (fields, timestamp = next++, seller = ALICE) => publish(url, seller, fields, { timestamp }),
    update: (id, fields, timestamp = next++, seller = ALICE) =>
      update(url, id, fields, { seller, timestamp }),
    remove: (id, timestamp = next++, seller = ALICE) => remove(url, id, { seller, timestamp }),
    listing: async (id) => {
      const reply = await get(`/listings/${encodeURIComponent(id)}`)
      return reply.status === 404 ? null : (reply.json().listing as Record<string, unknown>)
    },
  }
}
