import test from 'ava'
import { Redis } from 'ioredis'
import { ConfigError } from '../../../../src/errors.ts'
import { openRedisStore } from '../../../../src/store/redis/open.ts'
import { startRedis } from '../../../helpers/redis.ts'

const redis = await startRedis({ appendfsync: 'always' })
const careless = await startRedis({ appendonly: 'no', 'maxmemory-policy': 'allkeys-lru', appendfsync: 'no' })
const operator = new Redis(redis.url)
test.after.always(async () => {
  operator.disconnect()
  await Promise.all([redis, careless].map((one) => one.dispose()))
})

test('Redis settings: durable settings give no warning', async (t) => {
  for (const policy of ['volatile-lru', 'noeviction']) {
    await operator.config('SET', 'maxmemory-policy', policy)
    const { store, warnings } = await openRedisStore(redis.url)
    await store.close()
    t.deepEqual(warnings, [], policy)
  }
})

test('Redis settings: each setting that loses acknowledged writes gives a warning', async (t) => {
  const { store, warnings } = await openRedisStore(careless.url)
  await store.close()
  t.is(warnings.length, 3)
  t.regex(warnings[0]!, /has appendonly no: everything written since the last snapshot is lost/)
  t.regex(warnings[1]!, /has appendfsync no: .* Set it to everysec or always\./)
  t.regex(warnings[2]!, /has maxmemory-policy allkeys-lru: Redis drops listings/)
})

test('Redis settings: a Redis that denies CONFIG gives one warning', async (t) => {
  await operator.acl('SETUSER', 'app', 'on', '>s3cret', '~*', '&*', '+@all', '-config')
  const { store, warnings } = await openRedisStore(redis.url.replace('//', '//app:s3cret@'))
  await store.ping()
  await store.close()
  t.is(warnings.length, 1)
  t.regex(warnings[0]!, /does not show its settings\. Set appendonly yes, appendfsync everysec or always/)
})

test('Redis URL: a wrong password is a configuration error without the password', async (t) => {
  const url = redis.url.replace('//', '//reader:hunter2@')
  const error = await t.throwsAsync(openRedisStore(url), { instanceOf: ConfigError })
  t.regex(
    error.message,
    /^STORE_URL: Redis at redis:\/\/…@127\.0\.0\.1:\d+ rejects the credentials \(WRONGPASS\): check the user/,
  )
  t.notRegex(error.message, /hunter2/)
})

test('Redis URL: a malformed URL is a configuration error', async (t) => {
  for (const url of [
    'redis+cluster://',
    'redis+cluster://host:port',
    'redis://host:99999999',
    'redis://',
    'redis://a:1,b:2',
    'redis+sentinel://a:1,b:2',
    'redis+sentinel://a:1,b:2/',
    'redis+sentinel://:a,:b,:c@a:1/market',
    'rediss+cluster://a:1',
  ])
    await t.throwsAsync(openRedisStore(url), { instanceOf: ConfigError, message: /^STORE_URL: / }, url)
})

test('Redis URL: an unreachable Redis is unavailable', async (t) => {
  await t.throwsAsync(openRedisStore('redis://127.0.0.1:1'), {
    code: 'unavailable',
    message: /127\.0\.0\.1:1 cannot be used \(.*ECONNREFUSED/,
  })
  await t.throwsAsync(openRedisStore('redis+cluster://127.0.0.1:1'), { code: 'unavailable' })
})

const OLDER = /is not converted: point STORE_URL at another Redis, or .* let sellers run `entrepot sync`$/

for (const [format, age, advice] of [
  [1, 'an older', OLDER],
  [2, 'an older', OLDER],
  [4, 'a newer', /run that version again, or point STORE_URL at another Redis$/],
] as const)
  test(`Redis format ${format}: keys of ${age} version are a configuration error, and unchanged`, async (t) => {
    const prefix = `{entrepot-${format}}:`
    await operator.set(`${prefix}format`, format)
    await operator.hset(`${prefix}listings`, 'L', 'a row')
    const error = await t.throwsAsync(openRedisStore(redis.url, { prefix }), { instanceOf: ConfigError })
    t.true(error.message.includes(`was written by ${age} entrepot (format ${format}, this one reads 3)`))
    t.regex(error.message, advice)
    t.deepEqual(await operator.keys(`${prefix}*`).then((keys) => keys.sort()), [
      `${prefix}format`,
      `${prefix}listings`,
    ])
  })
