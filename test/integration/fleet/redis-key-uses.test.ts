import { randomUUID } from 'node:crypto'
import test from 'ava'
import { redisKeyUses } from '../../../src/fleet/redis-key-uses.ts'
import { redisLink } from '../../../src/fleet/redis-link.ts'
import { trustOurAuthority } from '../../helpers/certificates.ts'
import { ownRedis, startRedis, startRedisTls } from '../../helpers/redis.ts'
import { keyUseContract } from '../store/contract/key-uses.ts'

trustOurAuthority()
const [withPassword, withTls] = await Promise.all([
  startRedis({ requirepass: 'p@ss/word' }),
  startRedisTls('registry'),
])
test.after.always(() => Promise.all([withPassword.dispose(), withTls.dispose()]))

const urls = {
  'redis with a password': `${withPassword.url.replace('//', `//:${encodeURIComponent('p@ss/word')}@`)}/3`,
  'redis over TLS': withTls.url,
}
for (const [name, url] of Object.entries(urls))
  keyUseContract(name, async (t) => {
    const prefix = `{entrepot-test-${randomUUID()}}:`
    const open = () => {
      const link = redisLink(url, prefix)
      t.teardown(link.close)
      return redisKeyUses(link)
    }
    return { one: open(), other: open() }
  })

test('redis link: a stalled Redis rejects within seconds, the next request reconnects', async (t) => {
  const redis = await ownRedis(t)
  const link = redisLink(redis.url, '{entrepot-test}:')
  t.teardown(link.close)
  const uses = redisKeyUses(link)
  const use = { keyId: 1, calls: 1, lastUsedAt: 5 }
  await uses.add([use])
  await link.run((client) => client.zAdd('{entrepot-test}:key-uses', { score: Infinity, value: '2' }))
  t.deepEqual(await uses.read(), [use], 'without a time that is no time')
  await link.run(async (client) => {
    await client.set('{entrepot-test}:key-use:3', 'of another type')
    await client.zAdd('{entrepot-test}:key-uses', { score: 4, value: '3' })
  })
  t.deepEqual(await uses.read(), [{ keyId: 3, calls: 0, lastUsedAt: 4 }, use], 'nor without the others')
  await link.run((client) => client.zRem('{entrepot-test}:key-uses', '3'))
  redis.signal('SIGSTOP')
  await t.throwsAsync(uses.read())
  redis.signal('SIGCONT')
  t.deepEqual(await uses.read(), [use])
  await redis.end('SIGKILL')
  await t.throwsAsync(uses.read())
  await redis.start()
  t.deepEqual(await uses.read(), [use])
  link.close()
  await t.throwsAsync(uses.read(), { message: 'closed' })
})
