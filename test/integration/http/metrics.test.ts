import test from 'ava'
import { version } from '../../../src/config/shipped-files.ts'
import { deadUrl, listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { ADMIN, send, startRegistry } from '../../helpers/registry.ts'
import { ALICE, mintKey, publish } from '../../helpers/seller.ts'

const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }

test('metrics: need a key unless they are public', async (t) => {
  const gates = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_METRICS_API_KEY: 'scraper' }
  const closed = await startRegistry(t, { environment: { ...environment, ...gates } })
  t.is((await closed.get('/metrics')).status, 401)
  const scraper = { Authorization: 'Bearer scraper' }
  t.is((await closed.get('/metrics', scraper)).status, 200)
  for (const path of ['/listings', '/admin/api-keys', '/admin/replicas'])
    t.is((await closed.get(path, scraper)).status, 401, path)
  const open = await startRegistry(t, { environment: { METRICS_PUBLIC: 'true' } })
  const { status, headers } = await open.get('/metrics')
  t.is(status, 200)
  t.regex(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
})

test('metrics: public ones omit private sources unless the operator reads them', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const { url, get } = await startGateway(
    t,
    [
      { name: 'open', url: fake.url },
      { name: 'secret-club', url: fake.url, settings: 'visibility = "private"' },
    ],
    { environment: { ...environment, METRICS_PUBLIC: 'true', REGISTRY_BOOTSTRAP_API_KEY: 'reader' } },
  )
  for (const headers of [{}, { Authorization: 'Bearer reader' }, { Authorization: 'Bearer wrong' }]) {
    const { status, text } = await get('/metrics', headers)
    t.is(status, 200)
    t.false(text.includes('secret-club'))
    t.true(text.includes('entrepot_source_state{registry="open"}'))
    t.true(text.endsWith('\n'))
  }
  const { bearer } = await mintKey(url, { role: 'metrics' })
  for (const headers of [ADMIN, bearer])
    t.true((await get('/metrics', headers)).text.includes('entrepot_source_state{registry="secret-club"}'))
})

test('metrics: count requests by route, method and status, and time them by route', async (t) => {
  const { get } = await startRegistry(t, { environment })
  for (const path of [
    '/listings',
    '/listings?limit=3',
    '/listings',
    '/listings/a',
    '/listings/b%2Fc',
    '/x/1',
    '/x/2',
  ])
    await get(path)
  await get('/listings?limit=0')
  const { text } = await get('/metrics', ADMIN)
  for (const line of [
    'entrepot_requests_total{route="/listings",method="GET",status="200"} 3',
    'entrepot_requests_total{route="/listings",method="GET",status="422"} 1',
    'entrepot_requests_total{route="/listings/:id",method="GET",status="404"} 2',
    'entrepot_requests_total{route="other",method="GET",status="404"} 2',
    'entrepot_request_duration_seconds_count{route="/listings"} 4',
    'entrepot_request_duration_seconds_bucket{le="+Inf",route="/listings"} 4',
  ])
    t.true(text.includes(`${line}\n`), `${line}\n\n${text}`)
})

test('metrics: writes by outcome, refusals by limit, calls of the store, version and event loop', async (t) => {
  const { url, get } = await startRegistry(t, {
    environment,
    toml: '[limits]\nanonymous_per_minute = 2\npublish_per_minute = 2\nlistings_per_publisher = 1\n',
  })
  await publish(url, ALICE, { listing_id: 'one' })
  await publish(url, ALICE, { listing_id: 'two' })
  await publish(url, ALICE, { listing_id: 'one' })
  for (let n = 0; n < 3; n++) await get('/listings/one')
  await send(`${url}/listings/none`, { method: 'DELETE' })
  const { text } = await get('/metrics', ADMIN)
  for (const line of [
    'entrepot_writes_total{operation="publish",outcome="accepted"} 1',
    'entrepot_writes_total{operation="publish",outcome="quota_exceeded"} 1',
    'entrepot_writes_total{operation="publish",outcome="rate_limited"} 1',
    'entrepot_writes_total{operation="update",outcome="accepted"} 0',
    'entrepot_writes_total{operation="delete",outcome="rate_limited"} 1',
    'entrepot_limit_refusals_total{limit="publish"} 2',
    'entrepot_limit_refusals_total{limit="listings_per_publisher"} 1',
    'entrepot_limit_refusals_total{limit="anonymous"} 1',
    'entrepot_limit_refusals_total{limit="body_bytes"} 0',
    'entrepot_store_duration_seconds_count{operation="publish"} 2',
    'entrepot_store_failures_total{operation="publish"} 0',
    `entrepot_build_info{version="${version()}"} 1`,
  ])
    t.true(text.includes(`${line}\n`), `${line}\n\n${text}`)
  t.regex(text, /^entrepot_event_loop_delay_seconds\{percentile="99"\} [\d.e-]+$/m)
  const bounds = [
    ...text.matchAll(/^entrepot_request_duration_seconds_bucket\{le="([\d.]+)",route="\/listings"\}/gm),
  ]
  const seconds = bounds.map(([, le]) => Number(le))
  t.true(seconds.length > 8)
  for (const [n, le] of seconds.slice(1).entries()) t.true(le / seconds[n]! < 2.6, `${seconds[n]} to ${le}`)
})

test('metrics: calls, failures, retries, breaker, memory, age and items of each upstream', async (t) => {
  const items = [...listingTexts('a', 3), listingText({ listing_id: 7 })]
  const fake = await startFake(t, { items })
  const { get } = await startGateway(
    t,
    [
      { name: 'a', url: fake.url },
      { name: 'dead', url: deadUrl() },
    ],
    { environment },
  )
  await get('/listings')
  await get('/listings?limit=2')
  const { text } = await get('/metrics', ADMIN)
  for (const line of [
    'entrepot_source_calls_total{registry="a"} 1',
    'entrepot_source_breaker_state{registry="dead"} 0',
    'entrepot_source_items_total{registry="a"} 4',
    'entrepot_source_invalid_items_total{registry="a"} 1',
    'entrepot_source_listings{registry="local"} 0',
    'entrepot_source_state{registry="a"} 1',
  ])
    t.true(text.includes(`${line}\n`), `${line}\n\n${text}`)
  const failures = /entrepot_source_failures_total\{registry="dead",reason="connection_refused"\} (\d+)/.exec(
    text,
  )?.[1]
  t.true(text.includes(`entrepot_source_calls_total{registry="dead"} ${failures}\n`), text)
  t.regex(text, /entrepot_source_held_bytes\{registry="a"\} [1-9]/)
  t.regex(text, /entrepot_source_retries_total\{registry="dead"\} \d/)
  t.regex(text, /entrepot_source_age_seconds\{registry="a"\} [\d.]+/)
  t.regex(text, /process_resident_memory_bytes \d+/)
})
