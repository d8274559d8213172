import { ConfigError } from '../errors.ts'

type RedisPlace = {
  cluster: boolean
  hosts: { host: string; port: number }[]
  credentials: { username?: string; password?: string }
}

const SHAPE = /^(redis|rediss|redis\+cluster):\/\/(?:([^@/]*)@)?([^@/]+)(?:\/\d*)?$/
const DEFAULT_PORT = 6379

/** @throws ConfigError that does not repeat the credentials */
export function parseRedisUrl(url: string): RedisPlace {
  const [, scheme, userinfo, list = ''] = SHAPE.exec(url) ?? []
  const cluster = scheme === 'redis+cluster'
  const parsed = list.split(',').map((host) => URL.parse(`redis://${userinfo ?? ''}@${host}`))
  const nodes = parsed.filter((node) => node !== null).filter(({ hostname }) => hostname !== '')
  if (nodes.length < parsed.length || (parsed.length > 1 && !cluster)) throw malformed()
  const { username, password } = nodes[0]!
  return {
    cluster,
    hosts: nodes.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || DEFAULT_PORT),
    })),
    credentials: {
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    },
  }
}

const malformed = (): ConfigError =>
  new ConfigError([
    {
      path: 'STORE_URL',
      message: 'use redis://host:port, rediss://host:port or redis+cluster://host:port,host:port',
    },
  ])
