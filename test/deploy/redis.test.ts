import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import test from 'ava'
import { Redis } from 'ioredis'
import { openRedisStore } from '../../src/store/redis/open.ts'
import { startRedis } from '../helpers/redis.ts'
import { readComposeFile } from './compose-file.ts'
import { makeSecrets } from './secrets.ts'

const run = promisify(execFile)

/** The options of Compose's `redis`, without file and folder. */
function settings(): Record<string, string> {
  const [file, ...options] = readComposeFile().services.redis!.command!
  const pairs = Array.from({ length: options.length / 2 }, (_, n) => [
    options[2 * n]!.replace(/^--/, ''),
    options[2 * n + 1]!,
  ])
  const { dir, ...rest } = Object.fromEntries(pairs)
  if (file !== '/run/secrets/redis.conf' || dir !== '/data')
    throw new Error('not the file, or not the volume')
  return rest
}

test('Redis in Compose: requires the password, and loses no acknowledged write', async (t) => {
  const secrets = makeSecrets(t)
  const redis = await startRedis({ ...settings(), include: join(secrets, 'redis.conf') })
  t.teardown(() => redis.dispose())
  const withoutPassword = new Redis(redis.url, { lazyConnect: true })
  withoutPassword.on('error', () => {}) // the command fails with the same error
  t.teardown(() => withoutPassword.disconnect())
  await t.throwsAsync(withoutPassword.get('x'), { message: /NOAUTH/ })
  const url = new URL(readFileSync(join(secrets, 'store_url'), 'utf8').trim())
  t.is(url.host, 'redis:6379')
  url.host = new URL(redis.url).host
  const { store, warnings } = await openRedisStore(url.href)
  t.teardown(() => store.close())
  t.deepEqual(warnings, [])
  await t.notThrowsAsync(store.ping())

  const [kind, command = ''] = readComposeFile().services.redis!.healthcheck!.test
  t.is(kind, 'CMD-SHELL')
  const check = (file: string) =>
    run('sh', [
      '-c',
      command.replace('/run/secrets/redis.conf', file).replace('redis-cli', `redis-cli -p ${url.port}`),
    ])
  await t.notThrowsAsync(check(join(secrets, 'redis.conf')))
  await t.throwsAsync(check(join(secrets, 'admin_key')), undefined, 'another password is refused')
})
