import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { request } from 'undici'
import { eventually } from '../../helpers/eventually.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { gatewayToml, startFake, type UpstreamEntry } from '../../helpers/gateway.ts'
import { send } from '../../helpers/registry.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { ALICE, publishBody } from '../../helpers/seller.ts'
import { type ServiceProcess, startProcess } from '../../helpers/service-process.ts'
import { readAll } from './read-all.ts'

const DONE = 'reloaded'
const REFUSED = 'reload failed, the previous configuration stays'

type Files = {
  setGateway: (upstreams: readonly UpstreamEntry[], more?: string) => void
  setSpec: (more: string) => void
}

/** The real executable, with a gateway file and a filter spec of the test. */
async function start(
  t: ExecutionContext,
  upstreams: readonly UpstreamEntry[],
  storeUrl = 'sqlite::memory:',
): Promise<
  {
    service: ServiceProcess
    reload: (answer?: string, lines?: number) => Promise<Record<string, unknown>[]>
  } & Files
> {
  const folder = temporaryFolder(t)
  const gateway = join(folder, 'gateway.toml')
  const spec = join(folder, 'filter-spec.yaml')
  const setGateway: Files['setGateway'] = (upstreams, more = '') =>
    writeFileSync(gateway, gatewayToml(upstreams, `[limits]\npublish_per_minute = 0\n${more}`))
  const setSpec = (more: string) =>
    writeFileSync(spec, readFileSync('config/filter-spec.yaml', 'utf8') + more)
  setGateway(upstreams)
  setSpec('')
  const service = await startProcess(storeUrl, {
    ENTREPOT_CONFIG: gateway,
    REGISTRY_FILTER_SPEC_PATH: spec,
    METRICS_PUBLIC: 'true',
    REGISTRY_ADMIN_API_KEY: 'admin',
  })
  await eventually('ready', () => fetch(`${service.url}/ready`).then(({ ok }) => ok))
  t.teardown(() => service.end('SIGKILL'))
  const reload = (answer = DONE, lines = 1): Promise<Record<string, unknown>[]> => {
    const logged = service.logged(answer, lines)
    service.signal('SIGHUP')
    return logged
  }
  return { service, reload, setGateway, setSpec }
}

const metric = async ({ url }: ServiceProcess, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (.+)$`, 'm').exec((await send(`${url}/metrics`)).text)?.[1])

test('reload: an invalid gateway file changes nothing; log and metrics report it', async (t) => {
  const fake = await startFake(t, { items: listingTexts('one', 3) })
  const upstreams = [{ name: 'one', url: fake.url }]
  const { service, reload, setGateway } = await start(t, upstreams)
  t.is(await metric(service, 'entrepot_config_last_reload_successful'), 1)
  const loadedAt = await metric(service, 'entrepot_config_last_reload_success_timestamp_seconds')

  setGateway([{ name: 'One', url: 'ftp://nowhere' }], '[gateway]\nbudget = 5\n')
  const lines = await reload(REFUSED, 3)
  t.deepEqual(
    lines.map(({ level, problem }) => [level, String(problem).replace(/^.*gateway\.toml:\d+: /, '')]).sort(),
    [
      [50, 'gateway.budget: unknown setting; did you mean budget_ms?'],
      [50, 'upstreams[0].name: expected 1 to 64 characters of a-z, 0-9 and -'],
      [50, 'upstreams[0].url: expected an http or https URL'],
    ],
  )
  t.is(await metric(service, 'entrepot_config_last_reload_successful'), 0)
  t.is(await metric(service, 'entrepot_config_last_reload_success_timestamp_seconds'), loadedAt)
  t.is((await send(`${service.url}/listings`)).json().count, 3)

  setGateway(upstreams)
  await reload()
  t.is(await metric(service, 'entrepot_config_last_reload_successful'), 1)
  t.true((await metric(service, 'entrepot_config_last_reload_success_timestamp_seconds')) > loadedAt)
})

test('reload: a new filter spec has its filters and ETag, and loses no publish', async (t) => {
  const { service, reload, setSpec } = await start(t, [])
  const signed = await publishBody(ALICE, {})
  const publish = (id: string) =>
    send(`${service.url}/listings`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        ...signed,
        listing_id: id,
        offer_resource: { gpu_model: 'H100', region: 'A', colour: id },
      }),
    })
  const etag = async () => (await send(`${service.url}/filter-spec`)).json().etag
  const before = await etag()
  t.is((await send(`${service.url}/listings?colour=a`)).status, 400)
  let isOver = false
  const ids: string[] = []
  const publishing = (async () => {
    for (let n = 0; !isOver; n++) {
      t.is((await publish(`id-${n}`)).status, 201)
      ids.push(`id-${n}`)
      t.is(
        (await send(`${service.url}/listings/id-${n}`)).status,
        200,
        'readable at once, at either configuration',
      )
    }
  })()
  setSpec(
    "  - {name: colour, path: '$.offer_resource.colour', op: in, value_type: string, on_missing: fail}\n",
  )
  await reload()
  setSpec('\nnonsense: [')
  await reload(REFUSED)
  t.not(await etag(), before)
  isOver = true
  await publishing
  for (const id of [ids[0]!, ids.at(-1)!])
    t.is((await send(`${service.url}/listings?colour=${id}`)).json().total_after_filter, 1)
  t.is((await readAll(service.url)).size, ids.length)
})

test('reload: ten full reloads leak no connection, file or index', async (t) => {
  const fake = await startFake(t, { items: listingTexts('one', 200) })
  const upstreams = (n: number) => [
    { name: 'live', url: fake.url, settings: `timeout_ms = ${2000 + n}` },
    { name: 'held', url: `${fake.url}/`, settings: `timeout_ms = ${2000 + n}` },
  ]
  const { service, reload, setGateway, setSpec } = await start(t, upstreams(0))
  const descriptors = () => readdirSync(`/proc/${service.pid}/fd`).length
  const round = async (n: number) => {
    setGateway(upstreams(n))
    setSpec(
      `# ${n}\n  - {name: f${n}, path: '$.offer_resource.f${n}', op: in, value_type: string, on_missing: fail}\n`,
    )
    await reload()
    t.is((await send(`${service.url}/listings?limit=${n}`)).status, 200)
  }
  await round(1)
  const before = descriptors()
  for (let n = 2; n <= 11; n++) await round(n)
  // Idle connections to the upstream close after their keep-alive time, so at most one round's remain.
  t.true(descriptors() <= before + 4, `${before} descriptors, then ${descriptors()}`)
})

test('reload: a started stream is complete, though its upstream was removed', async (t) => {
  const fake = await startFake(t, { items: listingTexts('one', 20_000) })
  const { service, reload, setGateway } = await start(t, [{ name: 'one', url: fake.url }])
  const stream = await request(`${service.url}/listings`, { headers: { accept: 'application/x-ndjson' } })
  // The client reads nothing, so the service stops sending.
  setGateway([])
  await reload()
  t.is((await send(`${service.url}/sources`)).status, 404)
  const lines = (await stream.body.text()).trim().split('\n')
  t.is(lines.length, 20_001)
  t.true(JSON.parse(lines.at(-1)!)._meta.complete)
})

test('reload: SIGTERM does not wait for it, and a started stream is complete', async (t) => {
  const fake = await startFake(t, { items: listingTexts('one', 2000) })
  const { service, setGateway } = await start(t, [{ name: 'one', url: fake.url }])
  const hanging = await startFake(t, { script: [{ kind: 'hang' }] })
  setGateway([
    { name: 'one', url: fake.url },
    { name: 'new', url: hanging.url, settings: 'timeout_ms = 600000' },
  ])
  const stream = await request(`${service.url}/listings`, { headers: { accept: 'application/x-ndjson' } })
  const reloading = send(`${service.url}/admin/reload`, {
    method: 'POST',
    headers: { Authorization: 'Bearer admin' },
  })
  await hanging.requested()
  const ended = service.end('SIGTERM')
  t.like((await reloading).json(), { status: 503, detail: 'The process is stopping, so it does not reload' })
  const lines = (await stream.body.text()).trim().split('\n')
  t.is(lines.length, 2001)
  t.true(JSON.parse(lines.at(-1)!)._meta.complete)
  t.is(await ended, 0)
})
