import { type FleetJson, fleetSchema, type ReloadResultJson, reloadResultSchema } from '../../wire/fleet.ts'
import { type HandlerResponse, json, NO_STORE, type Route } from '../route.ts'

/** Never rejects: without Redis, of this process only. */
export type ReadFleet = () => Promise<FleetJson>

/** Neither fails. An error: the previous configuration stays. */
export type Reload = {
  now: () => Promise<ReloadResultJson | Error>
  /** What it would change. */
  preview: () => ReloadResultJson | Error
}

type ReplicaOptions = { readFleet: ReadFleet; reload: Reload }

export const replicaRoutes = ({ readFleet, reload }: ReplicaOptions): Route[] => [
  {
    method: 'GET',
    path: '/admin/replicas',
    gate: 'admin',
    summary: 'All replicas on this store as one: traffic, sources, changes of state',
    description: 'Replicas share reports through Redis, every 5 s. Elsewhere this process is the only one.',
    responses: { 200: { description: 'The replicas and their sums', schema: fleetSchema } },
    handle: async () => ({ ...json(await readFleet()), headers: NO_STORE }),
  },
  {
    method: 'POST',
    path: '/admin/reload',
    gate: 'admin',
    act: 'reload',
    summary: 'Reload the gateway file, the filter spec and the files of secrets',
    description:
      'As SIGHUP does, for the replica that answers; every replica reloads by itself. Answers once the new configuration has ' +
      'taken over, which waits up to 30 s for its upstreams. After a problem the previous configuration stays, and ' +
      '`errors` has the file, line and reason of each.',
    responses: { 200: { description: 'What has changed', schema: reloadResultSchema } },
    problems: [422],
    handle: async () => {
      return answerOf(await reload.now())
    },
  },
  {
    method: 'GET',
    path: '/admin/reload',
    gate: 'admin',
    summary: 'What a reload would change',
    description:
      'Reads the same files and changes nothing: `entrepot check --diff`. No upstream is requested.',
    responses: { 200: { description: 'What would change', schema: reloadResultSchema } },
    problems: [422],
    handle: () => answerOf(reload.preview()),
  },
]

function answerOf(result: ReloadResultJson | Error): HandlerResponse {
  if (result instanceof Error) throw result
  return { ...json(result), headers: NO_STORE }
}
