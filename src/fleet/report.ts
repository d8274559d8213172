import { z } from 'zod'
import { MAX_STEP, type Minute } from '../domain/minutes.ts'
import { type ReloadJson, reloadSchema, type StateChangeJson, stateChangeSchema } from '../wire/fleet.ts'
import { type SourceDetailsJson, sourceDetailsSchema } from '../wire/source.ts'

const count = z.int().nonnegative()

const minuteSchema = z.object({
  at: count,
  requests: count,
  errors: count,
  hits: count,
  lookups: count,
  latencies: z.array(count).max(MAX_STEP + 1),
})

/** Of a `Date`. */
const MAX_TIME = 8.64e15

const time = count.max(MAX_TIME)

/** A report without its id. Another version, or another program, may have written it. */
export const savedReportSchema = z.object({
  version: z.string(),
  startedAt: time,
  savedAt: time,
  reload: reloadSchema,
  minutes: z.array(minuteSchema),
  /** Older versions do not report it. */
  watchers: count.default(0),
  inconsistencies: count.default(0),
  sources: z.array(z.object({ details: sourceDetailsSchema, minutes: z.array(minuteSchema) })),
  changes: z.array(stateChangeSchema),
})

/** One replica, as it describes itself. Times in ms since the Unix epoch. */
export type ReplicaReport = {
  id: string
  version: string
  startedAt: number
  reload: ReloadJson
  /** Of the last hour. */
  minutes: readonly Minute[]
  /** Requests that wait for changes, streams included. */
  watchers: number
  /** Copies that its index was found to show or hide wrongly. */
  inconsistencies: number
  /** In configuration order. */
  sources: readonly { details: SourceDetailsJson; minutes: readonly Minute[] }[]
  /** Newest first. */
  changes: readonly StateChangeJson[]
}
