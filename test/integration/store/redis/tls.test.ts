import test from 'ava'
import { openRedisStore } from '../../../../src/store/redis/open.ts'
import { trustOurAuthority } from '../../../helpers/certificates.ts'
import { openAt, startRedis, startRedisTls } from '../../../helpers/redis.ts'
import { sharingContract } from '../contract/sharing.ts'

trustOurAuthority()
const trusted = await startRedisTls('registry')
const stranger = await startRedisTls('stranger')
const plain = await startRedis()
test.after.always(() => Promise.all([trusted, stranger, plain].map((redis) => redis.dispose())))

const openTrusted = openAt(() => trusted.url)
sharingContract('redis over TLS', openTrusted)

test('TLS: an untrusted certificate is refused before a password is sent', async (t) => {
  const url = stranger.url.replace('//', '//user:hunter2@')
  const error = await t.throwsAsync(openRedisStore(url), { code: 'unavailable' })
  t.regex(error.message, /^Redis at rediss:\/\/…@127\.0\.0\.1:\d+ cannot be used \(.*certificate.*\)/)
  t.notRegex(error.message, /hunter2/)
})

test('TLS: the URL alone decides whether TLS is used', async (t) => {
  await t.throwsAsync(openRedisStore(plain.url.replace('redis:', 'rediss:')), { code: 'unavailable' })
  await t.throwsAsync(openRedisStore(trusted.url.replace('rediss:', 'redis:')), { code: 'unavailable' })
})
