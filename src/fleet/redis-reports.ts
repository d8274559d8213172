import { type Entity, EntityId, Repository, Schema } from 'redis-om'
import type { AgedReport } from './merge-reports.ts'
import type { RedisLink } from './redis-link.ts'
import { type ReplicaReport, savedReportSchema } from './report.ts'

/** All functions reject while the storage is away. */
export type ReportStorage = {
  save: (report: ReplicaReport) => Promise<void>
  /** Of the other replicas, by their ids. */
  read: (ownId: string) => Promise<AgedReport[]>
  remove: (id: string) => Promise<void>
}

/** A replica that has not reported for this long is gone. */
const REPORT_TTL_SECONDS = 30
const MAX_REPLICAS = 100

type ReportEntity = Entity & {
  version: string
  startedAt: Date
  savedAt: Date
  /** JSON, as the following. */
  reload: string
  minutes: string
  sources: string
  changes: string
}

/**
 * One entity for each replica, and a sorted set of their ids by the time of the save: redis-om lists entities only
 * by its search, which needs a module. All times are Redis's, so that replicas need no common clock.
 */
export function redisReports(link: RedisLink): ReportStorage {
  const schema = new Schema<ReportEntity>(
    `${link.prefix}replica`,
    {
      version: { type: 'string' },
      startedAt: { type: 'date' },
      savedAt: { type: 'date' },
      reload: { type: 'string' },
      minutes: { type: 'string' },
      sources: { type: 'string' },
      changes: { type: 'string' },
    },
    { dataStructure: 'HASH' },
  )
  const ids = `${link.prefix}replicas`
  return {
    save: ({ id, version, startedAt, reload, minutes, sources, changes }) =>
      link.run(async (client) => {
        const reports = new Repository(schema, client)
        const savedAt = await client.time()
        const gone = await client.zRange(ids, '-inf', oldest(savedAt), { BY: 'SCORE' })
        if (gone.length > 0) {
          await reports.remove(gone)
          await client.zRem(ids, gone)
        }
        await reports.save(id, {
          version,
          startedAt: new Date(startedAt),
          savedAt,
          reload: JSON.stringify(reload),
          minutes: JSON.stringify(minutes),
          sources: JSON.stringify(sources.map(withoutFilters)),
          changes: JSON.stringify(changes),
        })
        await reports.expire(id, REPORT_TTL_SECONDS)
        await client.zAdd(ids, { score: savedAt.getTime(), value: id })
      }),
    read: (ownId) =>
      link.run(async (client) => {
        const now = await client.time()
        const known = await client.zRange(ids, oldest(now), '+inf', { BY: 'SCORE', LIMIT: LATEST })
        const others = known.filter((id) => id !== ownId)
        const entities = await new Repository(schema, client).fetch(others)
        return entities.flatMap((entity) => readEntity(entity, now))
      }),
    remove: (id) =>
      link.run(async (client) => {
        await new Repository(schema, client).remove(id)
        await client.zRem(ids, id)
      }),
  }
}

/** An upstream chooses their names, so their length has no limit. The replica that answers has its own. */
const withoutFilters = ({ details, minutes }: ReplicaReport['sources'][number]) => ({
  details: { ...details, filters: null },
  minutes,
})

const LATEST = { offset: 0, count: MAX_REPLICAS }

const oldest = (now: Date): number => now.getTime() - REPORT_TTL_SECONDS * 1000

/** Nothing for an entity that has expired, or that a version with other reports has written. */
function readEntity(entity: Partial<ReportEntity>, now: Date): AgedReport[] {
  const { version, startedAt, savedAt, reload, minutes, sources, changes } = entity
  if (version === undefined || startedAt === undefined || savedAt === undefined) return []
  const json = [reload, minutes, sources, changes].map(parseOrNull)
  const saved = savedReportSchema.safeParse({
    reload: json[0],
    minutes: json[1],
    sources: json[2],
    changes: json[3],
  })
  if (!saved.success) return []
  const report = { id: entity[EntityId] ?? '', version, startedAt: startedAt.getTime(), ...saved.data }
  return [{ report, ageSeconds: (now.getTime() - savedAt.getTime()) / 1000 }]
}

function parseOrNull(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return null
  }
}
