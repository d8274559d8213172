import { z } from 'zod'
import { EntrepotError } from '../errors.ts'
import { json } from './exchange.ts'
import type { Route } from './route.ts'

const readiness = z.object({ status: z.literal('ready') }).meta({ id: 'Readiness' })

/**
 * `contract.md` 3.2. The service begins to listen when its own index is loaded; `areTried` says whether every snapshot
 * upstream was pulled once, with whatever outcome.
 */
export const getReady = (areTried: () => boolean): Route => ({
  method: 'GET',
  path: '/ready',
  gate: 'none',
  summary: 'Whether the service can answer from its index, and was at every snapshot upstream once',
  answers: { 200: { description: 'Ready', schema: readiness } },
  refusals: [503],
  handle: () => {
    if (areTried()) return json({ status: 'ready' })
    throw new EntrepotError('unavailable', 'Not every snapshot upstream was pulled once: wait a moment')
  },
})
