import { z } from 'zod'
import { json } from './exchange.ts'
import type { Route } from './route.ts'

const health = z
  .object({
    status: z.enum(['ok', 'degraded']),
    checks: z.object({ api: z.literal('ok'), database: z.string().describe('ok, or error: and why') }),
  })
  .meta({ id: 'Health' })

/** By the store and never by upstreams (`protocol.md` 1.11, `contract.md` 3.2). */
export const getHealth = (store: { ping(): Promise<void> }): Route => ({
  method: 'GET',
  path: '/health',
  gate: 'none',
  summary: 'Whether the service is alive',
  answers: {
    200: { description: 'Alive', schema: health },
    503: { description: 'The store cannot be used', schema: health },
  },
  handle: async () => {
    try {
      await store.ping()
      return json({ status: 'ok', checks: { api: 'ok', database: 'ok' } })
    } catch (cause) {
      const { message } = cause as Error
      return json({ status: 'degraded', checks: { api: 'ok', database: `error: ${message}` } }, 503)
    }
  },
})
