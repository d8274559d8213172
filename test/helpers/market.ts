import type { ExecutionContext } from 'ava'
import { type Reply, type RunningService, startRegistry } from './registry.ts'
import { ALICE, publish, remove, unixNow, update } from './seller.ts'

/** When these tests began. */
export const FIXED_TIME = unixNow()

/** A Registry with a stopped clock, and a seller's requests to it; every call may have its own timestamp. */
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
  return {
    ...registry,
    publish: (fields, timestamp = FIXED_TIME, seller = ALICE) => publish(url, seller, fields, { timestamp }),
    update: (id, fields, timestamp = FIXED_TIME, seller = ALICE) =>
      update(url, id, fields, { seller, timestamp }),
    remove: (id, timestamp = FIXED_TIME, seller = ALICE) => remove(url, id, { seller, timestamp }),
    listing: async (id) => {
      const reply = await get(`/listings/${encodeURIComponent(id)}`)
      return reply.status === 404 ? null : (reply.json().listing as Record<string, unknown>)
    },
  }
}
