import { type Entity, EntityId, Repository, Schema } from 'redis-om'
import type { AgedReport } from './merge-reports.ts'
import { fetchEntities, type RedisLink } from './redis-link.ts'
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

/** JSON, since redis-om fails a whole read for a single date or number that it cannot convert. */
type ReportEntity = Entity & { report: string }

/**
 * One entity for each replica, and a sorted set of their ids by the time of the save: redis-om lists entities only
 * by its search, which needs a module. All times are Redis's, so that replicas need no common clock.
 */
export function redisReports(link: RedisLink): ReportStorage {
  const name = `${link.prefix}replica`
  const schema = new Schema<ReportEntity>(name, { report: { type: 'string' } }, { dataStructure: 'HASH' })
  const ids = `${link.prefix}replicas`
  return {
    save: ({ id, ...report }) =>
      link.run(async (client) => {
        const reports = new Repository(schema, client)
        const savedAt = await client.time()
        const gone = await client.zRange(ids, '-inf', oldest(savedAt), { BY: 'SCORE', LIMIT })
        if (gone.length > 0) {
          await reports.remove(gone)
          await client.zRem(ids, gone)
        }
        const sources = report.sources.map(withoutFilters)
        await reports.save(id, {
          report: JSON.stringify({ ...report, sources, savedAt: savedAt.getTime() }),
        })
        await reports.expire(id, REPORT_TTL_SECONDS)
        await client.zAdd(ids, { score: savedAt.getTime(), value: id })
      }),
    read: (ownId) =>
      link.run(async (client) => {
        const now = await client.time()
        const latest = { BY: 'SCORE', REV: true, LIMIT } as const
        const allIds = await client.zRange(ids, '+inf', oldest(now), latest)
        const otherIds = allIds.filter((id) => id !== ownId)
        const entities = await fetchEntities(new Repository(schema, client), otherIds)
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

const LIMIT = { offset: 0, count: MAX_REPLICAS }

const oldest = (now: Date): number => now.getTime() - REPORT_TTL_SECONDS * 1000

/** Nothing for an entity that has expired, or that is not a report of this version. */
function readEntity(entity: Partial<ReportEntity> | null, now: Date): AgedReport[] {
  const parsed = savedReportSchema.safeParse(parseOrNull(entity?.report))
  if (!parsed.success) return []
  const { savedAt, ...report } = parsed.data
  return [
    { report: { id: entity?.[EntityId] ?? '', ...report }, ageSeconds: (now.getTime() - savedAt) / 1000 },
  ]
}

function parseOrNull(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return null
  }
}
