import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { Redis } from 'ioredis'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { readComposeFile } from './compose-file.ts'
import { MAKE_SECRETS, makeSecrets } from './secrets.ts'

const file = readComposeFile()

test('Compose: containers have a read-only root, no capabilities and limits', (t) => {
  for (const [name, service] of Object.entries(file.services)) {
    const { read_only, cap_drop, security_opt, mem_limit, pids_limit, user = '' } = service
    t.deepEqual([read_only, cap_drop, security_opt], [true, ['ALL'], ['no-new-privileges:true']], name)
    t.true(mem_limit !== undefined && pids_limit !== undefined, name)
    t.notRegex(String(user), /^(0|root)\b/, name)
    for (const key of ['privileged', 'network_mode', 'pid', 'ipc', 'userns_mode', 'devices', 'cap_add'])
      t.false(key in service, `${name}: ${key}`)
    for (const { type, read_only } of service.volumes ?? []) if (type === 'bind') t.true(read_only, name)
  }
})

test('Compose: ports bind to 127.0.0.1, and Redis and the Registries have no outbound route', (t) => {
  for (const [name, { ports = [], networks }] of Object.entries(file.services)) {
    for (const port of ports) t.regex(port, /^127\.0\.0\.1:/, name)
    if (['redis', 'open-market', 'curated', 'co-located', 'seed'].includes(name))
      for (const network of [networks].flat() as string[]) t.true(file.networks[network]?.internal, name)
  }
})

const filesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8').trim()]),
  )

test('make-secrets: random secrets in a folder of their owner; a second run prints none and keeps them', (t) => {
  const folder = makeSecrets(t)
  const { 'redis.conf': settings, store_url: url, ...random } = filesIn(folder)
  t.is(new Set(Object.values(random)).size, 6)
  for (const [name, secret] of Object.entries(random)) t.regex(secret, /^[0-9a-f]{64}$/, name)
  t.is(settings, `requirepass ${random.redis_password}`)
  t.is(url, `redis://:${random.redis_password}@redis:6379`)

  chmodSync(folder, 0o755)
  rmSync(join(folder, 'curated_key'))
  const output = execFileSync('sh', [MAKE_SECRETS, folder], { encoding: 'utf8' })
  t.is(statSync(folder).mode & 0o777, 0o700)
  const { curated_key: again = '', ...kept } = filesIn(folder)
  t.regex(again, /^[0-9a-f]{64}$/)
  t.deepEqual(
    { ...kept, curated_key: random.curated_key },
    { ...random, 'redis.conf': settings, store_url: url },
  )
  for (const secret of Object.values(random)) t.false(output.includes(secret))
})

test('Redis in Compose: requires the password, and loses no acknowledged write', async (t) => {
  const secrets = makeSecrets(t)
  const [settings, ...options] = file.services.redis!.command!
  t.is(settings, '/run/secrets/redis.conf')
  const { dir: _, ...here } = Object.fromEntries(
    options.flatMap((word, n) => (n % 2 === 0 ? [[word.replace('--', ''), options[n + 1]!]] : [])),
  )
  const redis = await ownRedis(t, { ...here, include: join(secrets, 'redis.conf') })
  const withoutPassword = new Redis(redis.url, { lazyConnect: true })
  withoutPassword.on('error', () => {}) // the command fails with the same error
  t.teardown(() => withoutPassword.disconnect())
  await t.throwsAsync(withoutPassword.get('x'), { message: /NOAUTH/ })
  const url = new URL(readFileSync(join(secrets, 'store_url'), 'utf8').trim())
  url.host = new URL(redis.url).host
  const { store, warnings } = await openRedisStore(url.href)
  t.teardown(() => store.close())
  t.deepEqual(warnings, [])
  await t.notThrowsAsync(store.ping())
})
