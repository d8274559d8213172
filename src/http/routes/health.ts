import { z } from 'zod'
import { EntrepotError } from '../../errors.ts'
import { json, type Route } from '../route.ts'

const liveness = z.object({ status: z.literal('live') }).meta({ id: 'Liveness' })
const health = z
  .object({
    status: z.enum(['ok', 'degraded']),
    checks: z.object({
      api: z.literal('ok'),
      database: z.string().describe('`ok`, or `error: ` and the reason'),
    }),
  })
  .meta({ id: 'Health' })

type HealthOptions = {
  store: { ping(): Promise<void> }
  /** Whether every snapshot upstream was pulled once. */
  isReady: () => boolean
  keys: { areVerifiable: () => Promise<boolean> }
  /** Whether it answers reads without a key, and has no Registry of its own: then the store does not decide readiness. */
  answersWithoutStore: boolean
}

export const healthRoutes = ({ store, isReady, keys, answersWithoutStore }: HealthOptions): Route[] => [
  {
    method: 'GET',
    path: '/live',
    gate: 'none',
    summary: 'Whether the process responds',
    responses: { 200: { description: 'The process responds', schema: liveness } },
    handle: () => json({ status: 'live' }),
  },
  {
    method: 'GET',
    path: '/health',
    gate: 'none',
    summary: 'Whether the store can be written',
    responses: {
      200: { description: 'A row was written within the last second', schema: health },
      503: { description: 'The store cannot be written; reads are answered from memory', schema: health },
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
  },
  {
    method: 'GET',
    path: '/ready',
    gate: 'none',
    summary: 'Ready: every snapshot upstream was pulled once, and API keys can be verified',
    description:
      'A gateway without a Registry of its own whose reads are open is also ready while the store is away.',
    responses: { 200: { description: 'Ready', schema: readiness } },
    problems: [503],
    handle: async () => {
      if (!isReady())
        throw new EntrepotError(
          'unavailable',
          'Snapshot upstreams are being pulled for the first time: retry in a moment',
        )
      if (!answersWithoutStore && !(await keys.areVerifiable()))
        throw new EntrepotError(
          'unavailable',
          'API keys cannot be verified: the store has not answered for trust_seconds. GET /health gives the reason.',
        )
      return json({ status: 'ready' })
    },
  },
]

const readiness = z.object({ status: z.literal('ready') }).meta({ id: 'Readiness' })
