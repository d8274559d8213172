import type { ExecutionContext } from 'ava'
import { type Reply, type RunningService, send, startRegistry } from './registry.ts'
import { ALICE, postJson, publishBody, sign, unixNow } from './seller.ts'

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
  const listingUrl = (id: string): string => `${url}/listings/${encodeURIComponent(id)}`
  return {
    ...registry,
    publish: async (fields, at = FIXED_TIME, seller = ALICE) =>
      postJson(`${url}/listings`, JSON.stringify(await publishBody(seller, fields, at))),
    update: async (id, fields, at = FIXED_TIME, seller = ALICE) => {
      const signature = await sign(seller, 'update_listing', id, at)
      return send(listingUrl(id), {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ ...fields, signature, timestamp: at }),
      })
    },
    remove: async (id, at = FIXED_TIME, seller = ALICE) =>
      send(`${listingUrl(id)}?signature=${await sign(seller, 'delete_listing', id, at)}&timestamp=${at}`, {
        method: 'DELETE',
      }),
    listing: async (id) => {
      const reply = await get(`/listings/${encodeURIComponent(id)}`)
      return reply.status === 404 ? null : (reply.json().listing as Record<string, unknown>)
    },
  }
}
