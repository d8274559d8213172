import { z } from 'zod'
import { sourceDetailsSchema } from './source.ts'
import { wireInstant } from './time.ts'
import { trafficSchema } from './traffic.ts'

export const stateChangeSchema = z
  .object({
    at: wireInstant,
    registry: z.string(),
    part: z.enum(['state', 'breaker']),
    from: z.string(),
    to: z.string(),
    reason: z.string().nullable(),
  })
  .meta({ id: 'StateChange' })

export const reloadSchema = z
  .object({
    at: wireInstant,
    error: z.string().nullable().describe('null: it succeeded'),
  })
  .meta({ id: 'Reload', description: 'The latest load of the configuration; the start counts' })

const names = z.array(z.string())

export const reloadResultSchema = z
  .object({
    upstreams: z.object({ added: names, removed: names, changed: names }),
    changed: names.describe('Sections of the gateway file, `filter_spec`, and variables'),
    restart_needed: names.describe('Variables whose new value takes effect after a restart'),
    ms: z.int().describe('Time that the reload took'),
  })
  .meta({ id: 'ReloadResult', description: 'What a reload changed' })

const replicaSchema = z
  .object({
    id: z.string(),
    version: z.string(),
    started_at: wireInstant,
    age_seconds: z.int().describe('Age of its report'),
    reload: reloadSchema,
    total: trafficSchema.shape.total.describe('Of the last 60 minutes'),
    watchers: z.int().describe('Requests that wait for changes, streams included'),
    inconsistencies: z.int().describe('Copies of listings that its index was found to show or hide wrongly'),
    states: z.record(z.string(), z.int()).describe('Number of sources in each state'),
  })
  .meta({ id: 'Replica' })

export const fleetSchema = z
  .object({
    at: wireInstant.describe('Time of this answer'),
    answered_by: z.string().describe('Id of the replica that answered'),
    scope: z.enum(['all', 'this_process']).describe('Whether other replicas are included'),
    note: z.string().nullable().describe('Why they are not'),
    replicas: z.array(replicaSchema).describe('The one that answered first'),
    traffic: trafficSchema.describe('Of all replicas: routes with a read or write gate'),
    sources: z.array(
      sourceDetailsSchema.extend({
        replicas: z.record(z.string(), z.string()).describe('Its state by replica'),
      }),
    ),
    changes: z.array(stateChangeSchema.extend({ replica: z.string() })).describe('The latest, newest first'),
  })
  .meta({
    id: 'Fleet',
    description: 'All replicas as one; of each source the worst state, and the sum of its counts',
  })

export type StateChangeJson = z.infer<typeof stateChangeSchema>
export type ReloadResultJson = z.infer<typeof reloadResultSchema>
export type ReloadJson = z.infer<typeof reloadSchema>
export type FleetJson = z.infer<typeof fleetSchema>
