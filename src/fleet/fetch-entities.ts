import { ErrorReply } from 'redis'
import type { Entity, Repository } from 'redis-om'

/**
 * `null` for a key of another type: other programs can write to this Redis, too, and redis-om fails a whole read for
 * one such key.
 */
export const fetchEntities = <T extends Entity>(
  repository: Repository<T>,
  ids: readonly string[],
): Promise<(T | null)[]> =>
  Promise.all(
    ids.map((id) =>
      repository.fetch(id).catch((cause: unknown) => {
        if (cause instanceof ErrorReply && cause.message.startsWith('WRONGTYPE')) return null
        throw cause
      }),
    ),
  )
