import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { request } from 'undici'
import { eventually } from '../../helpers/eventually.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { gatewayToml, startFake, type UpstreamEntry } from '../../helpers/gateway.ts'
import { send } from '../../helpers/registry.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { startProcess } from '../../helpers/service-process.ts'

/** The real executable, with a gateway file and a filter spec of the test. */
async function start(t: ExecutionContext, upstreams: readonly UpstreamEntry[]) {
  const folder = temporaryFolder(t)
  const gateway = join(folder, 'gateway.toml')
  const spec = join(folder, 'filter-spec.yaml')
  const setGateway = (upstreams: readonly UpstreamEntry[]) => writeFileSync(gateway, gatewayToml(upstreams))
  const setSpec = (more: string) =>
    writeFileSync(spec, readFileSync('config/filter-spec.yaml', 'utf8') + more)
  setGateway(upstreams)
  setSpec('')
  const service = await startProcess('sqlite::memory:', {
    ENTREPOT_CONFIG: gateway,
    REGISTRY_FILTER_SPEC_PATH: spec,
    REGISTRY_ADMIN_API_KEY: 'admin',
  })
  await eventually('ready', () => fetch(`${service.url}/ready`).then(({ ok }) => ok))
  t.teardown(() => service.end('SIGKILL'))
  const reload = (): Promise<unknown> => {
    const logged = service.logged('reloaded')
    service.signal('SIGHUP')
    return logged
  }
  return { service, reload, setGateway, setSpec }
}

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
