import { type FleetJson, fleetSchema } from '../../wire/fleet.ts'
import { json, type Route } from '../route.ts'

/** Never rejects: without Redis, of this process only. */
export type ReadFleet = () => Promise<FleetJson>

export const replicaRoutes = (readFleet: ReadFleet): Route[] => [
  {
    method: 'GET',
    path: '/admin/replicas',
    gate: 'admin',
    summary: 'All replicas on this store as one: traffic, sources, changes of state',
    description: 'Replicas share reports through Redis, every 5 s. Elsewhere this process is the only one.',
    responses: { 200: { description: 'The replicas and their sums', schema: fleetSchema } },
    handle: async () => ({ ...json(await readFleet()), headers: { 'Cache-Control': 'no-store' } }),
  },
]
