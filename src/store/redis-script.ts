import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Cluster, Redis } from 'ioredis'

/** One atomic step in Redis. Its keys must share a hash slot. */
export type Script = (client: Redis | Cluster, keys: readonly string[], given: Arguments) => Promise<unknown>
type Arguments = readonly (string | number)[]

export function script(name: string): Script {
  const source = `${PRELUDE}\n${read(name)}`
  const sha = createHash('sha1').update(source).digest('hex')
  return async (client, keys, given) => {
    try {
      return await client.evalsha(sha, keys.length, ...keys, ...given)
    } catch (error) {
      // Unknown after a restart, on another node, or after SCRIPT FLUSH.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return client.eval(source, keys.length, ...keys, ...given)
    }
  }
}

const read = (name: string): string => readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8')

const PRELUDE = read('prelude')
