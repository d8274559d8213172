import { z } from 'zod'
import { json } from './exchange.ts'
import type { Route } from './route.ts'

const readiness = z.object({ status: z.literal('ready') }).meta({ id: 'Readiness' })

/** `contract.md` 3.2. The service begins to listen when its index is loaded, so whoever reaches it finds it ready. */
export const getReady = (): Route => ({
  method: 'GET',
  path: '/ready',
  gate: 'none',
  summary: 'Whether the service can answer from its index',
  answers: { 200: { description: 'Ready', schema: readiness } },
  handle: () => json({ status: 'ready' }),
})
