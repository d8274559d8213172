import { Counter, type Registry as MetricsRegistry } from 'prom-client'
import { LIMITS } from '../../errors.ts'
import type { OnAnswered } from '../middleware/request-log.ts'
import type { Gate } from '../route.ts'

const OPERATIONS: Readonly<Record<string, string>> = {
  'POST /listings': 'publish',
  'PUT /listings/:id': 'update',
  'DELETE /listings/:id': 'delete',
}

const GATES = ['read', 'write', 'metrics', 'admin'] as const satisfies readonly Gate[]

const ACCEPTED = 'accepted'

/** Counts writes of listings by outcome, refusals by the limit that was exceeded, and keys that open no gate. */
export function createOutcomeMetrics(registry: MetricsRegistry): OnAnswered {
  const writes = new Counter({
    name: 'entrepot_writes_total',
    help: 'Publishes, updates and deletes, by outcome: accepted, or the code of the problem',
    labelNames: ['operation', 'outcome'],
    registers: [registry],
  })
  const refusals = new Counter({
    name: 'entrepot_limit_refusals_total',
    help: 'Requests refused because they exceed a limit',
    labelNames: ['limit'],
    registers: [registry],
  })
  const keys = new Counter({
    name: 'entrepot_refused_keys_total',
    help: 'Requests with a key or another credential that does not open the gate',
    labelNames: ['gate'],
    registers: [registry],
  })
  for (const gate of GATES) keys.inc({ gate }, 0)
  for (const operation of Object.values(OPERATIONS)) writes.inc({ operation, outcome: ACCEPTED }, 0)
  for (const limit of LIMITS) refusals.inc({ limit }, 0)
  return ({ method, route, status, refusedAt }, error) => {
    if (refusedAt !== undefined) keys.inc({ gate: refusedAt })
    if (error?.limit !== undefined) refusals.inc({ limit: error.limit })
    const operation = OPERATIONS[`${method} ${route}`]
    const outcome = error?.code ?? (status < 400 ? ACCEPTED : undefined)
    if (operation !== undefined && outcome !== undefined) writes.inc({ operation, outcome })
  }
}
