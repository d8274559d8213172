import { readFileSync, writeFileSync } from 'node:fs'
import test from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { gatewayToml, startFake } from '../../helpers/gateway.ts'
import { ownRedis, redisClient } from '../../helpers/redis.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'

type Answer = { complete: boolean; items: unknown[]; sources: { state: string }[] }

test('reload: with Redis, Readings and snapshots remain, no connection leaks', async (t) => {
  const redis = await ownRedis(t)
  const live = await startFake(t, { items: listingTexts('live', 5) })
  const held = await startFake(t, { items: listingTexts('held', 5) })
  const behind = (n: number) =>
    gatewayToml(
      [
        { name: 'live', url: live.url },
        { name: 'held', url: held.url },
      ],
      `[gateway]\nbudget_ms = ${3000 + n}\n`,
    )
  const { get, reload } = await startRegistry(t, { toml: behind(0), environment: { STORE_URL: redis.url } })
  const client = redisClient(t, redis.url)
  const connections = async () => ((await client.client('LIST')) as string).trim().split('\n').length
  await get('/listings')
  const before = await connections()
  for (let n = 1; n <= 5; n++) {
    await reload(behind(n))
    const answer = (await get('/listings')).json() as Answer
    t.is(answer.items.length, 10)
    t.deepEqual(
      answer.sources.map(({ state }) => state),
      ['loaded', 'loaded', 'loaded'],
    )
  }
  t.is(live.requests.length, 1, 'what was kept is kept')
  t.is(await connections(), before)
})

test('reload: without Redis, only a reload that needs it is refused', async (t) => {
  const redis = await ownRedis(t)
  const fake = await startFake(t, { items: listingTexts('one', 5) })
  const file = (n: number) => gatewayToml([{ name: 'one', url: fake.url }], `[gateway]\nbudget_ms = ${n}\n`)
  const spec = temporaryFile(t, 'filter-spec.yaml', '')
  const setSpec = (more: string) =>
    writeFileSync(spec, readFileSync('config/filter-spec.yaml', 'utf8') + more)
  setSpec('')
  const { get, reload, context } = await startRegistry(t, {
    toml: file(3000),
    environment: { STORE_URL: redis.url, REGISTRY_FILTER_SPEC_PATH: spec, METRICS_PUBLIC: 'true' },
  })
  await get('/listings')
  const etag = async () => (await get('/filter-spec')).json().etag
  const before = await etag()
  await redis.end('SIGKILL')
  await reload(file(2000))
  t.is(context.config.gateway.budgetMs, 2000, 'the index is the same one')
  t.is(((await get('/listings')).json() as Answer).items.length, 5)
  setSpec('  - {name: colour, path: $.offer_resource.colour, op: in, value_type: string, on_missing: fail}\n')
  await reload(file(1700))
  t.is(context.config.gateway.budgetMs, 2000, 'another index cannot be loaded')
  t.regex((await get('/metrics')).text, /^entrepot_config_last_reload_successful 0$/m)
  t.is((await get('/listings')).status, 200)
  await redis.start()
  await eventually('healthy', async () => (await get('/health')).status === 200)
  await reload(file(1500))
  t.is(context.config.gateway.budgetMs, 1500)
  t.is((await get('/listings?colour=red')).status, 200)
  t.not(await etag(), before)
})
