import { randomUUID } from 'node:crypto'
import type { ExecutionContext } from 'ava'
import { commandClient, connected } from '../../src/store/redis/connection.ts'

/** A connection that fails at once without Redis, closed when the test ends. */
export async function openRedisClient(t: Pick<ExecutionContext, 'teardown'>, url: string) {
  const client = commandClient(url)
  t.teardown(() => client.disconnect())
  await connected(client)
  return client
}

export function testPrefix(): string {
  return `test:${randomUUID()}:`
}
