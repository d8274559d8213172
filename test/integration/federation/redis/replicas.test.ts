import test from 'ava'
import { block, unblock } from '../../../helpers/blocks.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { startGateway } from '../../../helpers/gateway.ts'
import { ownRedis, testRedis } from '../../../helpers/redis.ts'
import { ADMIN, type RunningService, startRegistry } from '../../../helpers/registry.ts'
import { remainsToTheByte } from '../../../helpers/restart.ts'
import { startScriptedEntrepot } from '../../../helpers/scripted-entrepot.ts'
import { ALICE, postJson, publish } from '../../../helpers/seller.ts'
import { startTcpProxy } from '../../../helpers/tcp-proxy.ts'

test('block: it holds on every replica of a Redis, and is refused while Redis is away', async (t) => {
  const redis = await ownRedis(t)
  const proxy = await startTcpProxy(Number(new URL(redis.url).port))
  t.teardown(() => proxy.close())
  const [one, other] = await Promise.all(
    [redis.url, `redis://127.0.0.1:${proxy.port}`].map((url) =>
      startRegistry(t, { environment: { REGISTRY_ADMIN_API_KEY: 'admin', STORE_URL: url } }),
    ) as [Promise<RunningService>, Promise<RunningService>],
  )
  t.is((await publish(one.url, ALICE, { listing_id: 'own' })).status, 201)
  const totalAt = async ({ get }: RunningService) => (await get('/listings')).json().total_after_filter
  await eventually('the listing at the other', async () => (await totalAt(other)) === 1)
  const id = await block(one, { subject: ALICE.address })
  t.is(await totalAt(one), 0, 'at once')
  await eventually('blocked at the other', async () => (await totalAt(other)) === 0)
  t.is((await publish(other.url, ALICE, { listing_id: 'more' })).status, 403)
  t.is((await unblock(other, id)).status, 204)
  await eventually('shown again', async () => (await totalAt(one)) === 1)
  const audit = JSON.parse((await other.get('/admin/audit', ADMIN)).text) as { act: string }[]
  t.deepEqual(
    audit.map(({ act }) => act),
    ['block.add', 'block.end'],
  )

  proxy.cut()
  const apart = await block(one, { subject: ALICE.address })
  t.is(await totalAt(one), 0)
  t.is(await totalAt(other), 1, 'a replica that is cut off goes on from memory')
  t.is((await publish(other.url, ALICE, { listing_id: 'more' })).status, 503, 'and takes nothing')
  proxy.mend()
  await eventually('blocked at the replica that is back', async () => (await totalAt(other)) === 0)
  await unblock(one, apart)

  await redis.end()
  const body = JSON.stringify({ subject: ALICE.address, reason: 'spam' })
  const refused = await postJson(`${one.url}/admin/blocks`, body, ADMIN)
  t.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5'])
  t.regex(String(refused.json().detail), /^The store cannot be used right now .* Nothing was acknowledged/)
  t.is(await totalAt(one), 1, 'reads go on from memory, without the block')
  await redis.start()
  await eventually(
    'blocked',
    async () => (await postJson(`${one.url}/admin/blocks`, body, ADMIN)).status === 201,
  )
  await eventually('blocked at the other', async () => (await totalAt(other)) === 0)
})

test('a followed upstream: a shared pull has its position, from which other replicas follow', async (t) => {
  const scripted = await startScriptedEntrepot(t, [': idle\n\n'])
  const { url } = await ownRedis(t)
  const start = () =>
    startGateway(t, [{ name: 'entrepot', url: scripted.url, settings: 'refresh_seconds = 3600' }], {
      environment: { STORE_URL: url },
    })
  await start()
  await eventually('saved and followed', () => scripted.opened.length === 1)
  await start()
  await eventually('followed twice', () => scripted.opened.length > 1)
  t.deepEqual(scripted.opened.slice(0, 2), ['from-pull-1', 'from-pull-1'])
})

test("snapshot restart: with Redis, a dead upstream's listings remain to the byte", async (t) => {
  const { url, dispose } = await testRedis()
  t.teardown(dispose)
  await remainsToTheByte(t, url)
})
