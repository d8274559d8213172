import test, { type ExecutionContext } from 'ava'
import { readFilterSpec } from '../../../../src/filter-spec/load.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { deadUrl, listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway, startPatientGateway, type UpstreamEntry } from '../../../helpers/gateway.ts'
import { listen } from '../../../helpers/listen.ts'
import { type RunningService, startRegistry } from '../../../helpers/registry.ts'
import { temporaryFile } from '../../../helpers/run-cli.ts'
import { ALICE, mintKey, postJson, publish } from '../../../helpers/seller.ts'
import type { Answer } from '../../../helpers/sequence.ts'
import { filterOf, specBody } from '../../../helpers/specs.ts'

const own = readFilterSpec('config/filter-spec.yaml')
const region = filterOf('region')
const zone = filterOf('zone')
const secret = filterOf('secret_zone')

type Spec = { etag: string; filters: { name: string; registries?: string[] }[] }
const listings = async ({ get }: RunningService, query: string, headers = {}): Promise<Answer> =>
  (await get(`/listings?${query}`, headers)).json() as Answer
const ids = ({ items }: Answer): string[] => items.map(({ listing_id }) => listing_id).sort()

const inZone = (id: string, fields: Record<string, unknown>): string =>
  listingText({ listing_id: id, offer_resource: fields })

/** `open` declares `zone`, `hidden` is private and declares `secret_zone` too, `plain` declares `region` only. */
async function startThree(t: ExecutionContext) {
  const fakes = {
    open: await startFake(t, {
      items: [inZone('open-x', { zone: 'x', region: 'r' }), inZone('open-y', { zone: 'y' })],
      filterSpec: specBody('open-1', [region, zone]),
    }),
    hidden: await startFake(t, {
      items: [inZone('hidden-x', { zone: 'x', secret_zone: 's' })],
      filterSpec: specBody('hidden-1', [region, secret, zone]),
    }),
    plain: await startFake(t, {
      items: [inZone('plain-x', { zone: 'x', region: 'r' }), inZone('plain-z', { zone: 'z' })],
      filterSpec: specBody('plain-1', [region]),
    }),
  }
  const upstreams: UpstreamEntry[] = Object.entries(fakes).map(([name, { url }]) => ({
    name,
    url,
    settings: name === 'hidden' ? 'visibility = "private"' : '',
  }))
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const service = await startPatientGateway(t, upstreams, { environment })
  return { ...fakes, service, key: (await mintKey(service.url)).bearer }
}

test('filter spec: adds the filters of visible upstreams, under an ETag of everything', async (t) => {
  const { service, key } = await startThree(t)
  const anonymous = await service.get('/filter-spec')
  const spec = anonymous.json() as Spec
  t.is(anonymous.headers.get('etag'), `"${spec.etag}"`)
  t.is(anonymous.headers.get('vary'), 'Authorization')
  t.deepEqual(
    spec.filters.map(({ name }) => name),
    [...own.filters.keys(), 'zone'],
  )
  t.deepEqual(
    spec.filters.flatMap(({ registries }) => registries ?? []),
    ['open'],
  )
  t.notRegex(anonymous.text, /secret|hidden/)

  const keyed = (await service.get('/filter-spec', key)).json() as Spec
  t.not(keyed.etag, spec.etag)
  t.deepEqual(
    keyed.filters.slice(own.filters.size).map(({ name, registries }) => [name, registries]),
    [
      ['secret_zone', ['hidden']],
      ['zone', ['open', 'hidden']],
    ],
  )
  t.is((await service.get('/filter-spec', { 'If-None-Match': `"${spec.etag}"` })).status, 304)
  t.is((await service.get('/filter-spec', { ...key, 'If-None-Match': `"${spec.etag}"` })).status, 200)
})

test('filters: one that a single upstream declares is applied to all sources, and sent to none', async (t) => {
  const { service, open, plain } = await startThree(t)
  await publish(service.url, ALICE, { listing_id: 'own-x', offer_resource: { zone: 'x' } })
  await publish(service.url, ALICE, { listing_id: 'own-y', offer_resource: { zone: 'y' } })
  const answer = await listings(service, 'zone=x')
  t.deepEqual(ids(answer), ['open-x', 'own-x', 'plain-x'])
  t.is(answer.total_after_filter, 3)
  t.true(answer.complete)
  for (const { requests } of [open, plain]) t.false(requests.some(({ parameters }) => parameters.has('zone')))
  t.deepEqual(ids(await listings(service, 'zone=x&region=r')), ['open-x', 'plain-x'])
})

test('response cache: a filtered response is dropped when the filter changes', async (t) => {
  const { service, open } = await startThree(t)
  await publish(service.url, ALICE, { listing_id: 'own-x', offer_resource: { zone: 'x', other_zone: 'y' } })
  const query = 'sources=local&zone=x'
  const fetchedAgain = async (filterSpec: object): Promise<void> => {
    const { etag } = (await service.get('/filter-spec')).json() as Spec
    open.filterSpec = filterSpec
    const { url } = service
    t.is(
      (await postJson(`${url}/admin/sources/open/refresh`, '{}', { Authorization: 'Bearer admin' })).status,
      202,
    )
    const current = async () => ((await service.get('/filter-spec')).json() as Spec).etag
    await eventually('another filter spec', current, (now) => now !== etag)
  }
  const kept = await service.get(`/listings?${query}`)
  t.is((await service.get(`/listings?${query}`)).text, kept.text)
  t.deepEqual(ids(kept.json() as Answer), ['own-x'])
  await fetchedAgain(specBody('open-2', [region, filterOf('zone', { path: '$.offer_resource.other_zone' })]))
  t.deepEqual(ids(await listings(service, query)), [])
  await fetchedAgain(specBody('open-3', [region]))
  t.is((await service.get(`/listings?${query}`)).status, 400)
})

test('If-Match: compared with the merged or our own spec, and not sent to upstreams', async (t) => {
  const { service, key, open } = await startThree(t)
  const { etag } = (await service.get('/filter-spec')).json() as Spec
  for (const known of [etag, own.etag])
    t.is((await service.get('/listings?zone=x', { 'If-Match': `"${known}"` })).status, 200)
  for (const other of ['open-1', 'other']) {
    const refused = await service.get('/listings?zone=x', { 'If-Match': `"${other}"` })
    t.is(refused.status, 412)
    t.is(refused.json().current_etag, etag)
  }
  t.is((await service.get('/listings', { ...key, 'If-Match': `"${etag}"` })).status, 412)
  t.true(open.requests.every(({ headers }) => headers['if-match'] === undefined))
})

test('filters: upstreams of another schema are skipped and reported, those of another minor version or of none are not', async (t) => {
  const schema = 'arkhai.compute.vms@1.2.0'
  const text = `version: 1\nschema: ${schema}\nlisting_shape: {type: object}\nfilters: []\n`
  const file = temporaryFile(t, 'spec.yaml', text)
  const own = await startRegistry(t, { environment: { REGISTRY_FILTER_SPEC_PATH: file } })
  t.deepEqual((await own.get('/filter-spec')).json().schema, { id: schema, version: 1 })
  const fakes = await Promise.all(
    [
      'arkhai.compute.vms@1.0.9',
      undefined,
      'arkhai.compute.vms@2.2.0',
      'arkhai.compute.credits@1.2.0',
      'else.compute.vms@1.2.0',
    ].map((id, n) =>
      startFake(t, { items: listingTexts(`l${n}`, 1), filterSpec: id ? specBody(`${n}`, [], id) : null }),
    ),
  )
  const upstreams = fakes.map(({ url }, n) => ({ name: `u${n}`, url }))
  const service = await startPatientGateway(
    t,
    [{ name: 'own', url: own.url }, ...upstreams, { name: 'dead', url: deadUrl() }],
    { more: `schema = "${schema}"` },
  )
  const answer = await listings(service, '')
  t.deepEqual(ids(answer), ['l0-0000', 'l1-0000'])
  const skipped = ['skipped', 'schema_mismatch']
  t.deepEqual(
    answer.sources.map(({ registry, state, reason }) => [registry, state, reason]),
    [
      ...['local', 'own', 'u0', 'u1'].map((name) => [name, 'loaded', undefined]),
      ...['u2', 'u3', 'u4'].map((name) => [name, ...skipped]),
      ['dead', 'unavailable', 'connection_refused'],
    ],
  )
  for (const { requests } of fakes.slice(2)) t.is(requests.length, 0)
})

/** An upstream that answers nothing until it is released. */
async function startSilent(t: ExecutionContext): Promise<{ url: string; release: () => void }> {
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  const url = await listen(t, (_request, response) => void isReleased.then(() => response.end()))
  return { url, release }
}

test('filter spec: a gateway that requests it does not wait for upstreams', async (t) => {
  const { url, release } = await startSilent(t)
  const { get } = await startGateway(t, [{ name: 'slow', url, settings: 'timeout_ms = 60000' }], {
    isLoaded: false,
  })
  let answered = false
  const patient = get('/filter-spec').finally(() => {
    answered = true
  })
  t.is((await get('/filter-spec', { 'CDN-Loop': 'eu' })).headers.get('etag'), `"${own.etag}"`)
  t.false(answered)
  release()
  t.is((await patient).headers.get('etag'), `"${own.etag}"`)
})

for (const path of ['/listings?unheard_of=1', '/filter-spec'])
  test(`filter spec: an upstream that withholds it does not withhold GET ${path}`, async (t) => {
    const { url } = await startSilent(t)
    const { get } = await startGateway(t, [{ name: 'a', url, settings: 'timeout_ms = 600000' }], {
      more: '[gateway]\nbudget_ms = 500\n',
      isLoaded: false,
    })
    const { status } = await get(path)
    t.true(status < 500 || status === 504)
  })
