import test from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { send } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, BOB, postJson, publish, publishBody } from '../../helpers/seller.ts'
import { startProcess } from '../../helpers/service-process.ts'
import { beforePoll } from './before-poll.ts'
import { readAll } from './read-all.ts'

const KEY = { Authorization: 'Bearer key' }
const ADMIN = { Authorization: 'Bearer admin' }

test('Redis outage: replicas keep reading, refuse writes, and catch up by themselves', async (t) => {
  const redis = await ownRedis(t)
  const file = temporaryFile(t, 'gateway.toml', '[limits]\nread_key_per_minute = 4\n')
  const environment = {
    ENTREPOT_CONFIG: file,
    REGISTRY_ADMIN_API_KEY: 'admin',
    REGISTRY_BOOTSTRAP_API_KEY: 'key',
    REGISTRY_REQUIRE_READ_API_KEY: 'false',
    REGISTRY_REQUIRE_WRITE_API_KEY: 'false',
  }
  const replicas = await Promise.all([1, 2].map(() => startProcess(redis.url, environment)))
  for (const { end } of replicas) t.teardown(() => end('SIGTERM'))
  const urls = replicas.map(({ url }) => url)
  const [a, b] = urls as [string, string]
  const limited = async (url: string) => {
    const { status, headers } = await send(`${url}/listings`, { headers: KEY })
    return [status, headers.get('ratelimit')?.split(';')[1]]
  }
  const everywhere = (ask: (url: string) => Promise<boolean>) =>
    beforePoll(async () => (await Promise.all(urls.map(ask))).every(Boolean))

  t.is((await publish(a, ALICE, { listing_id: 'one' })).status, 201)
  t.true(await everywhere(async (url) => (await readAll(url)).size === 1))
  t.deepEqual(await limited(a), [200, 'r=3'])
  t.deepEqual(await limited(b), [200, 'r=2'], 'counted together')

  await redis.end('SIGKILL')
  const cut = JSON.stringify(await publishBody(BOB, { listing_id: 'two' }))
  for (const url of urls) {
    t.deepEqual([...(await readAll(url)).keys()], ['one'])
    t.deepEqual(await limited(url), [200, 'r=3'], 'each by its own count')
    const health = await send(`${url}/health`)
    t.is(health.status, 503)
    t.like(health.json(), { status: 'degraded', checks: { api: 'ok' } })
    t.regex(
      (health.json().checks as { database: string }).database,
      /^error: The store cannot be used right now/,
    )
    const minting = postJson(`${url}/admin/api-keys`, '{"name":"unknown"}', ADMIN)
    for (const refused of [await postJson(`${url}/listings`, cut), await minting]) {
      t.is(refused.status, 503)
      t.is(refused.headers.get('retry-after'), '5')
      t.is(refused.headers.get('content-type'), 'application/problem+json; charset=utf-8')
      t.is(refused.json().status, 503)
    }
  }

  await redis.start()
  const isHealthy = async (url: string) => (await send(`${url}/health`)).status === 200
  await eventually('healthy', () => everywhere(isHealthy))
  const receipts = await Promise.all(urls.map((url) => postJson(`${url}/listings`, cut)))
  t.deepEqual(
    receipts.map(({ status }) => status),
    [201, 201],
  )
  t.deepEqual(receipts[0]?.json(), receipts[1]?.json(), 'sent twice, done once')
  t.true(
    await everywhere(async (url) => new Set((await readAll(url)).keys()).symmetricDifference(TWO).size === 0),
  )
  const keys = await send(`${b}/admin/api-keys`, { headers: ADMIN })
  t.is((JSON.parse(keys.text) as unknown[]).length, 1, 'what was refused did not happen')
})

const TWO = new Set(['one', 'two'])
