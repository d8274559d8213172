import { z } from 'zod'
import { EntrepotError } from '../errors.ts'
import { json } from './exchange.ts'
import type { Route } from './route.ts'

const readiness = z.object({ status: z.literal('ready') }).meta({ id: 'Readiness' })

type Readiness = {
  areTried: () => boolean
  keys: { areVerifiable: () => Promise<boolean> }
}

/** The service listens only after its own index is loaded. */
export const getReady = ({ areTried, keys }: Readiness): Route => ({
  method: 'GET',
  path: '/ready',
  gate: 'none',
  summary: 'Whether every snapshot upstream was pulled once, and API keys can be verified',
  answers: { 200: { description: 'Ready', schema: readiness } },
  refusals: [503],
  handle: async () => {
    if (!areTried())
      throw new EntrepotError('unavailable', 'Not every snapshot upstream was pulled once: wait a moment')
    if (!(await keys.areVerifiable()))
      throw new EntrepotError(
        'unavailable',
        'API keys cannot be verified: the store has not answered for a minute. GET /health says why.',
      )
    return json({ status: 'ready' })
  },
})
