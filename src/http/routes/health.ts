import { z } from 'zod'
import { EntrepotError } from '../../errors.ts'
import { json, type Route } from '../route.ts'

const liveness = z.object({ status: z.literal('live') }).meta({ id: 'Liveness' })
const health = z
  .object({
    status: z.enum(['ok', 'degraded']),
    checks: z.object({ api: z.literal('ok'), database: z.string().describe('ok, or error: and why') }),
  })
  .meta({ id: 'Health' })

/** Independent of store and upstreams: a process that answers needs no restart. */
export const getLive = (): Route => ({
  method: 'GET',
  path: '/live',
  gate: 'none',
  summary: 'Whether the process responds',
  responses: { 200: { description: 'The process responds', schema: liveness } },
  handle: () => json({ status: 'live' }),
})

export const getHealth = (store: { ping(): Promise<void> }): Route => ({
  method: 'GET',
  path: '/health',
  gate: 'none',
  summary: 'Whether the store can be written',
  responses: {
    200: { description: 'A row was written within the last second', schema: health },
    503: { description: 'Nothing can be written; reads go on from memory', schema: health },
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

const readiness = z.object({ status: z.literal('ready') }).meta({ id: 'Readiness' })

type Readiness = {
  isReady: () => boolean
  keys: { areVerifiable: () => Promise<boolean> }
}

/** The service listens only after its own index is loaded. */
export const getReady = ({ isReady, keys }: Readiness): Route => ({
  method: 'GET',
  path: '/ready',
  gate: 'none',
  summary: 'Whether every snapshot upstream was pulled once, and API keys can be verified',
  responses: { 200: { description: 'Ready', schema: readiness } },
  problems: [503],
  handle: async () => {
    if (!isReady())
      throw new EntrepotError('unavailable', 'Not every snapshot upstream was pulled once: wait a moment')
    if (!(await keys.areVerifiable()))
      throw new EntrepotError(
        'unavailable',
        'API keys cannot be verified: the store has not answered for a minute. GET /health says why.',
      )
    return json({ status: 'ready' })
  },
})
