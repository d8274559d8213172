import { Redis } from 'ioredis'
import type { Client } from './redis-connection.ts'

const NEEDED = [
  {
    setting: 'appendonly',
    values: ['yes'],
    loss: 'everything written since the last snapshot is lost when Redis stops',
  },
  {
    setting: 'appendfsync',
    values: ['everysec', 'always'],
    loss: 'up to half a minute of acknowledged writes is lost when the machine stops',
  },
  {
    setting: 'maxmemory-policy',
    values: ['noeviction'],
    loss: 'Redis drops listings, keys or used signatures when its memory is full',
  },
] as const

export async function durabilityWarnings(client: Client): Promise<string[]> {
  const nodes = client instanceof Redis ? [client] : client.nodes('master')
  return (await Promise.all(nodes.map(warningsOf))).flat()
}

async function warningsOf(node: Redis): Promise<string[]> {
  const where = `Redis at ${node.options.host}:${node.options.port}`
  try {
    const found = await Promise.all(NEEDED.map(({ setting }) => node.config('GET', setting)))
    return NEEDED.flatMap(({ setting, values, loss }, n) => {
      const value = settingOf(found[n])
      if (values.some((needed) => needed === value)) return []
      return [`${where} has ${setting} ${value}: ${loss}. Set it to ${values.join(' or ')}.`]
    })
  } catch {
    // Hosted services deny CONFIG, with various errors.
    const settings = NEEDED.map(({ setting, values }) => `${setting} ${values.join(' or ')}`).join(', ')
    return [
      `${where} does not show its settings: make sure of ${settings}, or acknowledged writes can be lost.`,
    ]
  }
}

const settingOf = (reply: unknown): string =>
  Array.isArray(reply) && typeof reply[1] === 'string' ? reply[1] : 'unknown'
