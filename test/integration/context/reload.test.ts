import { writeFileSync } from 'node:fs'
import test from 'ava'
import { createLogger } from '../../../src/log.ts'
import { eventually } from '../../helpers/eventually.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { gatewayToml, patientToml, startFake } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { send, startRegistry } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { type Answer, idsOf } from '../../helpers/sequence.ts'

const LIMITS = '[limits]\npublish_per_minute = 7\n'
const OTHERS =
  '[changes]\nmax_watchers = 7\n[curation]\ndeny_publishers = ["0x90f79bf6eb2c4f870365e785982e1f101e93b906"]\n' +
  '[[views]]\nname = "partners"\nsources = ["f1"]\n'

test('reload: an upstream that stays gets no request', async (t) => {
  const one = await startFake(t, { items: listingTexts('one', 5) })
  const held = await startFake(t, { items: listingTexts('held', 5) })
  const behind = [
    { name: 'one', url: one.url },
    { name: 'held', url: held.url },
  ]
  const { get, reload } = await startRegistry(t, { toml: patientToml(behind) })
  await get('/listings')
  const asked = () => [one, held].map((fake) => [fake.requests.length, fake.specRequests.length])
  const before = asked()
  // Another order is another priority, which changes how an upstream is shown, not its data.
  await reload(patientToml(behind.toReversed()))
  const answer = (await get('/listings')).json() as Answer
  t.deepEqual(
    answer.sources.map(({ registry, state }) => `${registry} ${state}`),
    ['local loaded', 'held loaded', 'one loaded'],
  )
  t.deepEqual(asked(), before)
})

test('reload: an unreachable upstream with changed settings keeps its listings', async (t) => {
  const live = await startFake(t, { items: listingTexts('live', 5) })
  const held = await startFake(t, { items: listingTexts('held', 5) })
  const behind = (settings: string) =>
    patientToml([
      { name: 'live', url: live.url, settings },
      { name: 'held', url: held.url, settings: `${settings}` },
    ])
  const { get, reload } = await startRegistry(t, { toml: behind('') })
  const before = (await get('/listings')).json() as Answer
  t.is(before.items.length, 10)
  live.script = [{ kind: 'reset_before_headers' }]
  held.script = [{ kind: 'reset_before_headers' }]
  const requests = held.requests.length
  await reload(behind('max_in_flight = 7'))
  const after = (await get('/listings')).json() as Answer
  t.deepEqual(idsOf(after), idsOf(before))
  t.true(after.complete)
  t.deepEqual(
    after.sources.map(({ registry, state, reason }) => [registry, state, reason]),
    [
      ['local', 'loaded', undefined],
      ['live', 'loaded', undefined],
      ['held', 'loaded', undefined],
    ],
  )
  t.is(held.requests.length, requests, 'the snapshot is not pulled again before it is due')
})

test('reload: listings of one credential are not handed to another', async (t) => {
  const held = await startFake(t, { items: listingTexts('held', 5) })
  const behind = (key: string) =>
    patientToml([{ name: 'held', url: held.url, settings: `api_key_env = "${key}"` }])
  const environment = { ONE: 'one', OTHER: 'other' }
  const { get, reload } = await startRegistry(t, { toml: behind('ONE'), environment })
  held.script = [{ kind: 'status', status: 401 }]
  await reload(behind('OTHER'))
  const { status, text } = await get('/listings')
  t.is(status, 503)
  t.false(text.includes('held-0000'))
})

test('reload: a Reading of an address that is now forbidden is not served', async (t) => {
  const live = await startFake(t, { items: listingTexts('live', 5) })
  const behind = (allowPrivateAddresses: boolean) =>
    patientToml([{ name: 'live', url: live.url, allowPrivateAddresses }])
  const { get, reload } = await startRegistry(t, { toml: behind(true) })
  t.is((await get('/listings')).status, 200)
  await reload(behind(false))
  const { status, text } = await get('/listings')
  t.is(status, 503)
  t.regex(text, /private_address/)
})

test('reload: an upstream that rejects the key stays hidden, its snapshot too', async (t) => {
  const held = await startFake(t, { items: listingTexts('held', 5) })
  const clock = manualClock()
  const file = (ms: number) => gatewayToml([{ name: 'held', url: held.url, settings: `timeout_ms = ${ms}` }])
  const { get, reload } = await startRegistry(t, { toml: file(60_000), clock })
  const untilStatus = async (status: number) => {
    const current = async () => (await get('/listings')).status
    await eventually(`status ${status}`, current, (now) => now === status)
  }
  await untilStatus(200)
  held.script = [{ kind: 'status', status: 401 }]
  clock.advance(20_000)
  await untilStatus(503)
  await reload(file(50_000))
  const { status, text } = await get('/listings')
  t.is(status, 503)
  t.false(text.includes('held-0000'))
})

test('reload: a cursor stays valid for an unchanged query, else it is refused', async (t) => {
  const fake = await startFake(t, { items: listingTexts('one', 30) })
  const behind = [{ name: 'one', url: fake.url }]
  const { get, reload } = await startRegistry(t, { toml: patientToml(behind) })
  const first = (await get('/listings?limit=10')).json() as Answer
  await reload(patientToml(behind, LIMITS))
  const second = (await get(`/listings?limit=10&cursor=${first.next_cursor}`)).json() as Answer
  t.deepEqual([...idsOf(first), ...idsOf(second)], idsOf((await get('/listings?limit=20')).json() as Answer))
  const other = await startFake(t)
  await reload(patientToml([...behind, { name: 'two', url: other.url }]))
  t.is((await get(`/listings?limit=10&cursor=${second.next_cursor}`)).status, 400)
})

test('reload: a smaller cache keeps what is held, which is served while its upstream fails', async (t) => {
  const fake = await startFake(t, { items: listingTexts('one', 5) })
  const clock = manualClock()
  const file = (bytes: number) =>
    patientToml([{ name: 'one', url: fake.url }], `[cache]\nmax_bytes = ${bytes}\n`)
  const { get, reload } = await startRegistry(t, { toml: file(1_000_000), clock })
  await get('/listings')
  fake.script = [{ kind: 'status', status: 404 }]
  clock.advance(120_000)
  await reload(file(500_000))
  const { sources, items } = (await get('/listings', { 'Cache-Control': 'no-cache' })).json() as Answer
  t.is(items.length, 5)
  t.is(sources[1]?.state, 'stale')
})

test('reload: reloads run one after the other, signals meanwhile cause one more', async (t) => {
  const fake = await startFake(t, { items: listingTexts('one', 5) })
  const { context, get } = await startRegistry(t, { toml: patientToml([{ name: 'one', url: fake.url }]) })
  const { config } = context
  const loads: number[] = []
  const load = (n: number) => () => {
    loads.push(n)
    return { ...config, gateway: { ...config.gateway, id: `gateway-${n}` } }
  }
  await Promise.all([1, 2, 3, 4].map((n) => context.reload(load(n))))
  t.deepEqual(loads, [1, 2])
  t.is(context.config.gateway.id, 'gateway-2')
  t.is((await get('/listings')).status, 200)
})

test('reload: a gateway becomes a plain Registry, and a gateway again', async (t) => {
  const fake = await startFake(t, { items: listingTexts('one', 5) })
  const behind = patientToml([{ name: 'one', url: fake.url }])
  const { get, reload } = await startRegistry(t, { environment: { METRICS_PUBLIC: 'true' } })
  t.deepEqual(Object.keys((await get('/listings')).json()), ['items', 'count', 'total_after_filter'])
  t.notRegex((await get('/metrics')).text, /registry="one"/)
  await reload(behind)
  t.is((await get('/listings')).json().count, 5)
  t.regex((await get('/metrics')).text, /entrepot_source_state\{registry="one"\} 1/)
  await reload('')
  t.is((await get('/listings')).json().count, 0)
  t.is((await get('/sources')).status, 404)
  t.notRegex((await get('/metrics')).text, /registry="one"/)
})

const OLD_KEY = 'a'.repeat(64)
const NEW_KEY = 'b'.repeat(64)

test('reload: secrets are read again, STORE_URL is not', async (t) => {
  const keyFile = temporaryFile(t, 'admin-key', OLD_KEY)
  const storeFile = temporaryFile(t, 'store-url', 'sqlite::memory:')
  const warned: string[] = []
  const log = createLogger('silent')
  log.warn = (about: unknown, message?: string) => void warned.push(`${JSON.stringify(about)} ${message}`)
  const { get, reload } = await startRegistry(t, {
    environment: {
      REGISTRY_ADMIN_API_KEY_FILE: keyFile,
      STORE_URL: '',
      STORE_URL_FILE: storeFile,
    },
    log,
  })
  const statusWith = async (key: string) =>
    (await get('/admin/api-keys', { Authorization: `Bearer ${key}` })).status
  writeFileSync(keyFile, `${NEW_KEY}\n`)
  writeFileSync(storeFile, 'redis://:the-password@nowhere.example')
  await reload('')
  t.deepEqual([await statusWith(OLD_KEY), await statusWith(NEW_KEY)], [401, 200])
  t.is(warned.length, 1)
  t.regex(warned[0]!, /"changed":\["REGISTRY_ADMIN_API_KEY"\],"restart_needed":\["STORE_URL"\].* reloaded$/)
})

test('reload: POST /admin/reload answers what changed, which is also the line in the log', async (t) => {
  const fakes = await Promise.all([1, 2, 3].map((n) => startFake(t, { items: listingTexts(`f${n}`, n) })))
  const [one, two, three] = fakes.map(({ url }, n) => ({ name: `f${n + 1}`, url }))
  const lines: Record<string, unknown>[] = []
  const log = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) })
  const { url, get, setGatewayFile } = await startRegistry(t, {
    log,
    environment: { REGISTRY_ADMIN_API_KEY: OLD_KEY, METRICS_PUBLIC: 'true' },
    toml: patientToml([one!, two!]),
  })
  const metrics = async () =>
    Array.from(
      (await get('/metrics')).text.matchAll(/^entrepot_config_last_reload_success\w+ (.+)$/gm),
      ([, n]) => Number(n),
    )
  const post = (key: string) =>
    send(`${url}/admin/reload`, { method: 'POST', headers: { Authorization: `Bearer ${key}` } })
  setGatewayFile(patientToml([{ ...one!, settings: 'max_in_flight = 7' }, three!], `${LIMITS}${OTHERS}`))
  t.is((await post('wrong')).status, 401)
  const { status, json } = await post(OLD_KEY)
  t.is(status, 200)
  const { ms, ...result } = json()
  t.deepEqual(result, {
    upstreams: { added: ['f3'], removed: ['f2'], changed: ['f1'] },
    changed: ['changes', 'curation', 'views', 'limits'],
    restart_needed: [],
  })
  t.like(
    lines.find(({ msg }) => msg === 'reloaded'),
    { ...result, ms },
  )
  const rule = '[[curation.rules]]\nlabel = "unverified"\n'
  const rest = [{ ...one!, settings: 'max_in_flight = 7' }, three!]
  for (const [more, changed] of [
    [`${OTHERS}${LIMITS}${rule}`, ['curation']],
    [`# moved\n${OTHERS}${LIMITS}# moved\n${rule}`, []],
  ] as const) {
    setGatewayFile(patientToml(rest, more))
    t.deepEqual((await post(OLD_KEY)).json().changed, changed)
  }
  const names = async () =>
    ((await get('/sources')).json().sources as { registry: string }[]).map(({ registry }) => registry)
  t.deepEqual(await names(), ['local', 'f1', 'f3'])

  const [, loadedAt] = await metrics()
  setGatewayFile('[gateway]\nbudget_ms = "soon"\n[limits]\nanonymous = 5\n')
  const refused = await post(OLD_KEY)
  t.is(refused.status, 422)
  t.regex(String(refused.json().detail), /^Reload failed, the previous configuration stays: .*gateway\.toml/)
  const problems = (refused.json().errors as { path: string; message: string }[]).map(
    ({ path, message }) => `${path}: ${message}`,
  )
  t.regex(
    problems.join('\n'),
    /gateway\.toml:2: gateway\.budget_ms: .*\n.*gateway\.toml:4: limits\.anonymous: .*/,
  )
  const logged = lines.filter(({ msg }) => msg === 'reload failed, the previous configuration stays')
  t.deepEqual(
    logged.map(({ problem }) => problem),
    problems,
  )
  t.deepEqual(await names(), ['local', 'f1', 'f3'])
  t.deepEqual(await metrics(), [0, loadedAt])
  setGatewayFile(patientToml(rest))
  t.is((await post(OLD_KEY)).status, 200)
  const [isSuccessful, later = 0] = await metrics()
  t.is(isSuccessful, 1)
  t.true(later > loadedAt!)
})

test('reload: ten reloads leave no timer', async (t) => {
  const live = await startFake(t, { items: listingTexts('live', 5) })
  const held = await startFake(t, { items: listingTexts('held', 5) })
  const dead = await startFake(t, { script: [{ kind: 'reset_before_headers' }] })
  const clock = manualClock()
  const behind = (n: number) =>
    gatewayToml(
      [
        { name: 'live', url: live.url },
        { name: 'held', url: held.url },
        { name: 'dead', url: dead.url },
      ],
      `[gateway]\nbudget_ms = ${1000 + n}\n`,
    )
  const { get, reload } = await startRegistry(t, {
    toml: behind(0),
    clock,
    random: () => 0.5,
    isLoaded: false,
  })
  const pending: number[] = []
  for (let n = 1; n <= 10; n++) {
    const reloading = reload(behind(n))
    // The dead one is tried again after a while: time has to go on for the reload to end.
    let isDone = false
    void reloading.then(() => {
      isDone = true
    })
    await eventually('reloaded', () => {
      clock.advance(100)
      return isDone
    })
    await get('/listings?timeout_ms=300')
    await new Promise((resolve) => setImmediate(resolve))
    pending.push(clock.pending())
  }
  t.true(pending.at(-1)! <= pending[0]! + 1, pending.join(' '))
})
