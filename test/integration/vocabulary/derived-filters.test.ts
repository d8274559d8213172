import test, { type ExecutionContext } from 'ava'
import { agentAt } from '../../helpers/agent.ts'
import { listingText } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'

type Offer = Record<string, unknown>
type Answer = {
  total_after_filter: number
  items: { listing_id: string; _meta: { gpu?: object; place?: object } }[]
  unplaced?: Record<string, number>
  suggestions?: { query: Record<string, string>; total: number }[]
  detail?: string
}

const OFFERS: Record<string, Offer> = {
  plain: { gpu_model: 'A100', region: 'Frankfurt, DE' },
  sxm: { gpu_model: 'A100-SXM4-80GB', region: 'DE' },
  spelled: { gpu_model: 'nvidia_a100_pcie_40gb', region: 'eu-west1' },
  other: { gpu_model: 'H100', gpu_count: 8, region: 'US-CA-1' },
  unknown: { gpu_model: 'Hopper big', region: 'somewhere' },
  credits: { service_name: 'tokens' },
}

const RENTED: Record<string, Offer> = {
  ...OFFERS,
  week: { gpu_model: 'H200', gpu_count: 8, sla: 99.5, region: 'Oslo, NO' },
  day: { gpu_model: 'H200', gpu_count: 1, sla: 99, region: 'Oslo, NO' },
}
/** In seconds. */
const RENTS: Record<string, number> = { week: 604_800, day: 86_400, unknown: 0 }

const start = async (t: ExecutionContext, offers = OFFERS) => {
  const items = Object.entries(offers).map(([listing_id, offer_resource]) =>
    listingText({ listing_id, offer_resource, max_duration_seconds: RENTS[listing_id] ?? null }),
  )
  const fake = await startFake(t, { items })
  const service = await startPatientGateway(t, [{ name: 'up', url: fake.url }])
  return async (query: string) => (await service.get(`/listings?${query}`)).json() as Answer
}

const idsOf = ({ items }: Answer) => items.map(({ listing_id }) => listing_id).sort()

test('derived filters: a model is found whatever its spelling, and what is not judged is counted', async (t) => {
  const read = await start(t)
  const found = await read('gpu=a100')
  t.deepEqual(idsOf(found), ['plain', 'spelled', 'sxm'])
  t.deepEqual(found.unplaced, { gpu: 1 })
  t.deepEqual(found.items.find(({ listing_id }) => listing_id === 'sxm')?._meta.gpu, {
    model: 'A100',
    variant: 'SXM',
    memory_gb: 80,
  })
  t.deepEqual(idsOf(await read('gpu=not_in:[A100]')), ['other'])
  t.deepEqual(idsOf(await read('strict.gpu=false&gpu=H100')), ['other', 'unknown'])
  t.deepEqual(idsOf(await read('gpu=exists:false')), ['credits', 'unknown'])
})

test('derived filters: memory that a name leaves open is not judged between', async (t) => {
  const read = await start(t)
  const large = await read('gpu=A100&gpu_memory_gb_min=80')
  t.deepEqual(idsOf(large), ['sxm'])
  t.deepEqual(large.unplaced, { gpu: 0, gpu_memory_gb_min: 1 })
  t.deepEqual(idsOf(await read('gpu_memory_total_gb_min=640')), ['other'])
})

test('derived filters: countries and continents', async (t) => {
  const read = await start(t)
  const german = await read('country=Germany')
  t.deepEqual([idsOf(german), german.unplaced], [['plain', 'sxm'], { country: 3 }])
  const european = await read('continent=Europe&gpu=A100')
  t.deepEqual([idsOf(european), european.unplaced], [['plain', 'spelled', 'sxm'], { continent: 0, gpu: 0 }])
  t.deepEqual((await read('country=JP')).unplaced, { country: 2 })
})

test('derived filters: GPUs, SLA and hours of rent, whatever the unit', async (t) => {
  const read = await start(t, RENTED)
  const many = await read('gpus_min=8')
  t.deepEqual([idsOf(many), many.unplaced], [['other', 'week'], { gpus_min: 4 }])
  t.deepEqual(idsOf(await read('gpus_min=range:[1,8)')), ['day'])
  t.deepEqual(idsOf(await read('sla_min=99.5')), ['week'])
  t.deepEqual(idsOf(await read('sla_min=99')), ['day', 'week'])
  const long = await read('rent_hours_min=24')
  t.deepEqual([idsOf(long), long.unplaced], [['day', 'week'], { rent_hours_min: 6 }])
  t.deepEqual(idsOf(await read('rent_hours_min=24.5&gpu=H200')), ['week'])
  t.is((await read('rent_hours_min=24&strict.rent_hours_min=false')).total_after_filter, 8)
})

test('derived filters: an unknown value is refused with what it may mean', async (t) => {
  const read = await start(t)
  t.regex((await read('gpu=A100 80GB')).detail ?? '', /gpu=A100&gpu_memory_gb_min=80/)
  t.regex((await read('gpu=Hopper')).detail ?? '', /not a known value/)
})

const CURATED = `version: 1
listing_shape: {type: object}
filters:
  - {name: where, path: offer_resource.region, op: in, value_type: string}
`

test('derived filters: a curated filter spec has those of what it filters by', async (t) => {
  const curated = temporaryFile(t, 'curated.yaml', CURATED)
  const credits = new URL('../../../config/filter-spec.apicredits.yaml', import.meta.url).pathname
  for (const [file, names] of [
    [curated, ['country', 'continent', 'rent_hours_min']],
    [credits, ['rent_hours_min']],
  ] as const) {
    const environment = { REGISTRY_FILTER_SPEC_PATH: file }
    const { get, url } = await startRegistry(t, { environment })
    t.deepEqual((await get('/vocabulary')).json().filters, names)
    for (const name of ['gpu', 'gpus_min', 'country', 'sla_min', 'rent_hours_min']) {
      const value = { gpu: 'H200', country: 'DE' }[name] ?? '1'
      const { status } = await get(`/listings?${name}=${value}`)
      t.is(status, names.some((one) => one === name) ? 200 : 400, `${file}: ${name}`)
    }
    const documented = JSON.stringify((await get('/openapi.json')).json())
    t.is(documented.includes('"name":"gpu_variant"'), false)
    const overview = await (await agentAt(t, url)).call('market_overview')
    t.false(overview.isError, overview.text)
  }
  const fake = await startFake(t, { items: [listingText({ listing_id: 'a' })] })
  const options = { environment: { REGISTRY_FILTER_SPEC_PATH: curated } }
  const gateway = await startPatientGateway(t, [{ name: 'up', url: fake.url }], options)
  t.is((await gateway.get('/listings?gpu=H200')).status, 200, 'one source whose filter spec is not known')
})
