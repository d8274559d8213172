import { type Entity, Repository, Schema } from 'redis-om'
import type { KeyUse, KeyUseStorage } from '../domain/api-key.ts'
import { fetchEntities, type RedisLink } from './redis-link.ts'

type KeyUseEntity = Entity & { calls: number }

/**
 * One entity for each key, and a sorted set of their ids by the latest use. Replicas count together, so calls are
 * added in place instead of saved: a saved entity would undo what another replica has added meanwhile.
 */
export function redisKeyUses(link: RedisLink): KeyUseStorage {
  const name = `${link.prefix}key-use`
  const schema = new Schema<KeyUseEntity>(name, { calls: { type: 'number' } }, { dataStructure: 'HASH' })
  const byUse = `${link.prefix}key-uses`
  return {
    add: (uses) =>
      link.run(async (client) => {
        if (uses.length === 0) return
        const step = client.multi()
        for (const { keyId, calls, lastUsedAt } of uses)
          step
            .hIncrBy(`${name}:${keyId}`, 'calls', calls)
            .zAdd(byUse, { score: lastUsedAt, value: String(keyId) }, { GT: true })
        await step.exec()
      }),
    read: () =>
      link.run(async (client) => {
        const used = await client.zRangeWithScores(byUse, 0, -1)
        const ids = used.map(({ value }) => value)
        const entities = await fetchEntities(new Repository(schema, client), ids)
        const uses = entities.map((entity, n): KeyUse => {
          return { keyId: Number(ids[n]), calls: entity?.calls ?? 0, lastUsedAt: used[n]!.score }
        })
        // Other programs can write to this Redis, too: a time must be one.
        return uses.filter(({ lastUsedAt }) => Number.isSafeInteger(lastUsedAt))
      }),
  }
}
