import { X509Certificate } from 'node:crypto'
import test from 'ava'
import { createLogger } from '../../../../src/log.ts'
import type { SourceDetailsJson } from '../../../../src/wire/source.ts'
import { EXPIRED, TRUSTED, trustOurAuthority, UNTRUSTED } from '../../../helpers/certificates.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { deadUrl, listingTexts } from '../../../helpers/fake-registry.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { ADMIN, startRegistry } from '../../../helpers/registry.ts'
import { ALICE, mintKey, postJson, publish } from '../../../helpers/seller.ts'

const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }

type Sources = { sources: Record<string, unknown>[] }

test('sources: readers see the state, the operator also breakers and calls', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const gateway = await startGateway(
    t,
    [
      { name: 'a', url: fake.url },
      { name: 'dead', url: deadUrl(), settings: 'visibility = "private"' },
    ],
    { environment },
  )
  await publish(gateway.url, ALICE, { listing_id: 'own' })
  const { bearer } = await mintKey(gateway.url)
  await gateway.get('/listings', bearer)

  const open = await gateway.get('/sources')
  const { sources } = open.json() as Sources
  t.deepEqual(
    sources.map(({ registry, mode, state, listings }) => [registry, mode, state, listings]),
    [
      ['local', 'local', 'loaded', 1],
      ['a', undefined, 'loaded', 3],
    ],
  )
  t.true(Array.isArray(sources[0]?.filters))
  t.notRegex(open.text, /dead|private/)

  const all = (await gateway.get('/sources', bearer)).json() as Sources
  t.like(all.sources[2], {
    registry: 'dead',
    state: 'unavailable',
    last_error: { reason: 'connection_refused' },
  })
  t.false('calls' in all.sources[2]!)

  t.is((await gateway.get('/admin/sources', bearer)).status, 401)
  const details = (await gateway.get('/admin/sources', ADMIN)).json() as Sources
  t.like(details.sources[1], {
    registry: 'a',
    breaker: { state: 'closed', failures_in_a_row: 0 },
    calls: { made: 1, failed: 0, ended: 1 },
  })
  t.like((details.sources[2]!.calls as Record<string, unknown>).failures_by_reason, { connection_refused: 2 })
})

test('sources: a refresh pulls an upstream at once', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }], { environment })
  await gateway.get('/listings')
  const pages = (): number => fake.requests.filter(({ path }) => path === '/listings').length
  await gateway.get('/listings?limit=2')
  await gateway.get('/listings?limit=2')
  t.is(pages(), 1, 'the others are answered from memory')
  fake.items = listingTexts('a', 4)
  t.is((await postJson(`${gateway.url}/admin/sources/a/refresh`, '', ADMIN)).status, 202)
  const total = async () => (await gateway.get('/listings?limit=2')).json().total_after_filter
  await eventually('pulled again, and no response of before is sent again', total, (now) => now === 4)
  t.is(pages(), 2)
  for (const action of ['refresh', 'probe']) {
    for (const name of ['unknown', 'local'])
      t.is((await postJson(`${gateway.url}/admin/sources/${name}/${action}`, '', ADMIN)).status, 404)
    t.is((await postJson(`${gateway.url}/admin/sources/a/${action}`, '')).status, 401)
  }
})

test('sources: a probe reaches an upstream whose circuit breaker is open', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3), port: await freePort() })
  const clock = manualClock()
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url, settings: 'api_key_env = "A_KEY"' }], {
    environment: { ...environment, A_KEY: 'upstream-key' },
    clock,
  })
  const probe = async () =>
    (await postJson(`${gateway.url}/admin/sources/a/probe`, '', ADMIN)).json() as SourceDetailsJson
  await gateway.get('/listings')
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  fake.script = [{ kind: 'hold', until: isReleased }]
  const first = probe()
  await eventually('probed', () => fake.requests.filter(({ path }) => path === '/listings').length === 2)
  const second = probe()
  await gateway.get('/sources')
  release()
  for (const { calls } of await Promise.all([first, second]))
    t.is(calls?.ended, 2, 'both wait for one answer')
  await fake.close()
  const broken = await eventually('paused', probe, ({ breaker }) => breaker?.state === 'open')
  t.like(broken, { state: 'loaded', breaker: { failures_in_a_row: 5 } })
  const asked = fake.requests.length
  for (const path of ['/listings/x', '/listings/y'])
    t.regex((await gateway.get(path)).text, /"reason":"connection_refused"/, path)
  t.is(fake.requests.length, asked)
  t.is(broken.failures?.length, 5)
  t.like(broken.failures?.[0], { reason: 'connection_refused' })
  t.is(typeof broken.breaker?.retry_at, 'string')
  t.like(broken.traffic?.total, { requests: 7, errors: 5 })
  t.is(broken.traffic?.minutes.requests.at(-1), 7)
  t.like(broken.settings, { kind: 'registry', api_key: true, timeout_ms: 2500 })
  t.false(JSON.stringify(broken).includes('upstream-key'))
})

test('sources: the operator sees in words why an upstream fails, and when its certificate ends', async (t) => {
  trustOurAuthority()
  const key = 'upstream-key-of-this-test'
  const plain = await startFake(t)
  const redirects = {
    kind: 'status',
    status: 302,
    headers: { location: `https://${key}.example/x` },
  } as const
  const fakes = {
    good: await startFake(t, { certificate: TRUSTED }),
    expired: await startFake(t, { certificate: EXPIRED }),
    stranger: await startFake(t, { certificate: UNTRUSTED }),
    moved: await startFake(t, { script: [redirects] }),
  }
  const upstreams = [
    ...Object.entries(fakes).map(([name, { url }]) => ({
      name,
      url,
      settings: 'api_key_env = "A_KEY"',
    })),
    { name: 'no-tls', url: plain.url.replace('http:', 'https:') },
    { name: 'held', url: fakes.expired.url },
  ]
  const lines: Record<string, unknown>[] = []
  const log = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) })
  const gateway = await startGateway(t, upstreams, { environment: { ...environment, A_KEY: key }, log })
  await gateway.get('/listings')
  const { sources } = (await gateway.get('/admin/sources', ADMIN)).json() as { sources: SourceDetailsJson[] }
  const details = Object.fromEntries(
    sources.map(({ registry, last_error }) => [registry, last_error?.detail]),
  )
  const expired = 'the certificate expired on 2020-03-01'
  t.regex(details.stranger!, /^self-signed certificate/)
  t.deepEqual(
    { ...details, stranger: null },
    {
      local: undefined,
      good: undefined,
      expired,
      stranger: null,
      moved: 'answered 302 and redirects to https://…',
      'no-tls': 'the server does not speak TLS; is it an http:// URL?',
      held: expired,
    },
  )
  for (const { failures, last_error } of sources.filter(({ registry }) => registry === 'expired'))
    t.is(failures?.[0]?.detail, last_error?.detail)
  t.like(
    lines.find(({ msg, upstream }) => msg === 'snapshot pull failed' && upstream === 'held'),
    { upstream: 'held', reason: 'tls', detail: expired, err: undefined },
  )
  const ends = Object.fromEntries(sources.map((one) => [one.registry, one.certificate_ends_at]))
  const good = new X509Certificate(TRUSTED.cert).validToDate.toISOString()
  t.like(ends, { expired: '2020-03-01T12:00:00.000Z', good, moved: null, local: undefined })
  const { text } = await gateway.get('/metrics', ADMIN)
  t.regex(text, /^entrepot_source_tls_expiry_seconds\{registry="expired"\} 1583064000$/m)
  t.false(text.includes('tls_expiry_seconds{registry="moved"'))
  // Readers see the reason alone.
  t.false((await gateway.get('/sources')).text.includes('expired on'))
  t.false(JSON.stringify([sources, lines]).includes(key))
  const opened = await eventually('opened', async () => {
    await postJson(`${gateway.url}/admin/sources/no-tls/probe`, '', ADMIN)
    return lines.find(({ msg, upstream }) => msg === 'circuit breaker opened' && upstream === 'no-tls')
  })
  t.like(opened, { reason: 'tls', detail: details['no-tls'] })
})

test('sources: while the circuit breaker is open, the reason is why it opened, and the pause a state of its own', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 1) })
  const clock = manualClock()
  const lines: Record<string, unknown>[] = []
  const log = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) })
  const options = { environment, clock, log }
  const gateway = await startGateway(
    t,
    [{ name: 'a', url: fake.url, settings: 'refresh_seconds = 600' }],
    options,
  )
  const post = (act: string) => postJson(`${gateway.url}/admin/sources/a/${act}`, '', ADMIN)
  const details = async () =>
    (await gateway.get('/admin/sources', ADMIN)).json() as { sources: SourceDetailsJson[] }
  fake.script = [{ kind: 'body', body: '{' }]
  await eventually('open', async () => {
    const { breaker } = (await post('probe')).json() as SourceDetailsJson
    return breaker?.state === 'open'
  })
  clock.advance(1_300_000)
  await eventually('a pull that is not sent', async () => {
    const { state, last_error } = (await details()).sources[1]!
    return state === 'stale' && last_error?.detail?.endsWith('; the circuit breaker is open') === true
  })
  const { sources } = await details()
  t.like(sources[1], { last_error: { reason: 'not_json' } })
  t.not(sources[1]?.breaker?.state, 'closed')
  for (const path of ['/sources', '/listings', '/listings?publisher=0xabc', '/facets'])
    t.regex((await gateway.get(path)).text, /"reason":"not_json"/, path)
  const logged = lines.filter(({ upstream, reason }) => upstream === 'a' && reason !== undefined)
  t.deepEqual([...new Set(logged.map(({ reason }) => reason))], ['not_json'])
})

test('sources: 404 on a plain Registry', async (t) => {
  const { get } = await startRegistry(t)
  t.is((await get('/sources')).status, 404)
})
