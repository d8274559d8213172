import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Cluster, Redis } from 'ioredis'
import { readSnapshot, renderSnapshot, type SnapshotStorage } from '../domain/source/saved-snapshot.ts'

const MAX_AGE_SECONDS = 7 * 24 * 3600
/** Bound on decompressed text, against decompression bombs. */
const MAX_TEXT_BYTES = 2 ** 30

type RedisSnapshotOptions = {
  client: Redis | Cluster
  key: string
  identity: string
  /** The store shares this Redis, which must not run full. */
  maxBytes: () => number
}

/** A compressed snapshot in Redis. Replicas overwrite each other: the last save wins. */
export const redisSnapshot = ({
  client,
  key,
  identity,
  maxBytes,
}: RedisSnapshotOptions): SnapshotStorage => ({
  load: async () => {
    const bytes = await client.getBuffer(key)
    return bytes === null
      ? null
      : readSnapshot(await unpack(bytes, { maxOutputLength: MAX_TEXT_BYTES }), identity)
  },
  save: async (snapshot) => {
    const bytes = await pack(renderSnapshot(snapshot, identity))
    if (bytes.length > maxBytes())
      throw new RangeError(`it takes ${bytes.length} bytes of Redis, more than its share of cache.max_bytes`)
    await client.set(key, bytes, 'EX', MAX_AGE_SECONDS)
  },
})

const pack = promisify<Buffer, Buffer>(gzip)
const unpack = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)
