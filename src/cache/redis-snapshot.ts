import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Cluster, Redis } from 'ioredis'
import { readSnapshot, renderSnapshot, type SnapshotKeeping } from '../domain/saved-snapshot.ts'

/** What nobody saves any more is gone after this time. */
const MAX_KEPT_SECONDS = 7 * 24 * 3600
/** Text of a saved snapshot, which its compressed form must not exceed whatever it claims. */
const MAX_TEXT_BYTES = 2 ** 30

export type RedisSnapshotOptions = {
  client: Redis | Cluster
  key: string
  /** The upstream's. */
  url: string
  /** Most memory of Redis that it may take up, as of now: it is the store's Redis, which must not run full. */
  maxBytes: () => number
}

/** A snapshot of `url`'s upstream in Redis, compressed. Replicas save one after the other; the last one counts. */
export const redisSnapshot = ({ client, key, url, maxBytes }: RedisSnapshotOptions): SnapshotKeeping => ({
  load: async () => {
    const bytes = await client.getBuffer(key)
    return bytes === null ? null : readSnapshot(await unpack(bytes, { maxOutputLength: MAX_TEXT_BYTES }), url)
  },
  save: async (snapshot) => {
    const bytes = await pack(renderSnapshot(snapshot, url))
    if (bytes.length > maxBytes())
      throw new RangeError(`it takes ${bytes.length} bytes of Redis, more than its part of cache.max_bytes`)
    await client.set(key, bytes, 'EX', MAX_KEPT_SECONDS)
  },
})

const pack = promisify<Buffer, Buffer>(gzip)
const unpack = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)
