import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { listingText } from '../../helpers/fake-registry.ts'
import { patientToml, startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { type RunningService, startRegistry } from '../../helpers/registry.ts'
import { runCli, temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, publish } from '../../helpers/seller.ts'

const SPELLINGS = ['A100', 'a100-80gb', 'NVIDIA A100-SXM4-80GB', 'H100', 'Hopper big']

type Answer = { total_after_filter: number; items: { _meta: { gpu?: { model?: string } } }[] }

const MARKET = SPELLINGS.map((gpu_model, n) => ({ gpu_model, region: n < 3 ? 'Tokyo, Japan' : 'MON1' }))

/** A gateway of one Registry with these offers. */
async function start(
  t: ExecutionContext,
  more = '',
  offers: readonly object[] = MARKET,
): Promise<RunningService> {
  const items = offers.map((offer_resource, n) => listingText({ listing_id: `${n}`, offer_resource }))
  const fake = await startFake(t, { items })
  const service = await startPatientGateway(t, [{ name: 'up', url: fake.url }], { more })
  return service
}

/** A gateway file's rows of an operator. */
const tables = (t: ExecutionContext, gpus: string, places = ''): string =>
  `[vocabulary]\ngpus = "${temporaryFile(t, 'gpus.toml', gpus)}"
places = "${temporaryFile(t, 'places.toml', places)}"\n`

const HOPPER = '[[names]]\nsource = "up"\ntext = "Hopper big"\nmodel = "H100"\n'

test('a search by a spelling says how many it leaves out', async (t) => {
  const { get } = await start(t)
  const read = async (query: string) => (await get(`/listings?${query}`)).json() as Record<string, unknown>
  const spelled = await read('gpu_model=A100')
  t.is(spelled.total_after_filter, 1)
  t.deepEqual(spelled.suggestions, [{ query: { gpu: 'A100' }, total: 3 }])
  t.deepEqual((await read('gpu_model=a100-80gb&limit=1')).suggestions, [
    { query: { gpu: 'A100', gpu_memory_gb_min: '80' }, total: 2 },
  ])
  const more = ['gpu_model=H100', 'gpu_model=Hopper big', 'gpu_model=in:[A100]', 'gpu=A100&gpu_model=A100']
  for (const query of more) t.is((await read(query)).suggestions, undefined, query)
})

test('counts by model and country join all spellings; what is open is missing', async (t) => {
  const { get } = await start(t)
  const { facets, unplaced } = (await get('/facets?by=gpu,country&continent=Asia')).json() as Record<
    string,
    object
  >
  t.deepEqual(facets, {
    gpu: { values: [{ value: 'A100', count: 3 }], other: 0, missing: 0 },
    country: { values: [{ value: 'JP', count: 3 }], other: 0, missing: 0 },
  })
  t.deepEqual(unplaced, { continent: 2 })
  const all = (await get('/facets?by=gpu')).json() as { facets: { gpu: object } }
  t.like(all.facets.gpu, { missing: 1 })
})

test('GET /vocabulary: models as seen, countries, and what is not recognised', async (t) => {
  const { get } = await start(t)
  const { gpus, countries, not_recognised, complete } = (await get('/vocabulary')).json() as {
    gpus: { gpu: string; listings: number; spellings: { text: string }[] }[]
    countries: object[]
    not_recognised: object[]
    complete: boolean
  }
  const a100 = gpus.find(({ gpu }) => gpu === 'A100')
  t.is(a100?.listings, 3)
  t.deepEqual(a100?.spellings.map(({ text }) => text).sort(), SPELLINGS.slice(0, 3).sort())
  t.deepEqual(countries, [{ country: 'JP', name: 'Japan', continent: 'AS', listings: 3 }])
  t.deepEqual(not_recognised, [
    { source: 'up', field: 'region', text: 'MON1', count: 2 },
    { source: 'up', field: 'gpu_model', text: 'Hopper big', count: 1 },
  ])
  t.true(complete)
})

test('GET /vocabulary: the texts of one seller are bounded in number and length', async (t) => {
  const spellings = Array.from({ length: 60 }, (_, n) => `A100${' '.repeat(n)}-SXM`)
  const texts = [...spellings, 'y', 'x'.repeat(5000)]
  const offers = texts.map((gpu_model) => ({ gpu_model }))
  const { get } = await start(t, '', offers)
  const { gpus, not_recognised } = (await get('/vocabulary')).json() as {
    gpus: { gpu: string; listings: number; spellings: object[] }[]
    not_recognised: { text: string }[]
  }
  const a100 = gpus.find(({ gpu }) => gpu === 'A100')
  t.deepEqual([a100?.listings, a100?.spellings.length], [60, 50])
  t.deepEqual(
    not_recognised.map(({ text }) => text),
    ['x'.repeat(200), 'y'],
    'of one count by text, not in the order of listings',
  )
})

/** Texts that take a while to be read, each different. */
const longText = (n: number): string => `${n} ${'frank furt '.repeat(17)}`

test.serial(
  'GET /vocabulary: many texts are read in turns with other requests, and say the same to all who ask',
  async (t) => {
    const items = Array.from({ length: 1500 }, (_, n) =>
      listingText({ listing_id: `${n}`, offer_resource: { gpu_model: longText(n), region: longText(n) } }),
    )
    const fake = await startFake(t, { items })
    const { get } = await startPatientGateway(t, [
      { name: 'up', url: fake.url, settings: 'refresh_seconds = 3600' },
    ])
    const { now } = performance
    let reads = 0
    // Each look at the clock moves it, so that work takes as many turns on a fast machine.
    performance.now = () => now.call(performance) + 3 * ++reads
    t.teardown(() => {
      performance.now = now
    })
    let hasEnded = false
    const reports = ['', '?z=1', '?z=2'].map((query) => get(`/vocabulary${query}`))
    void Promise.all(reports).then(() => {
      hasEnded = true
    })
    let meanwhile = 0
    for (; !hasEnded; meanwhile++) await get('/live')
    t.true(meanwhile > 100, `${meanwhile} requests were answered`)
    const [first, ...others] = (await Promise.all(reports)).map(({ json }) => {
      const { sources: _, ...texts } = json() as Record<string, unknown>
      return texts
    })
    for (const texts of others) t.deepEqual(texts, first)
  },
)

test('GET /vocabulary: of the texts of a source the most frequent ones are read', async (t) => {
  const rare = Array.from({ length: 2100 }, (_, n) => `unknown ${n}`)
  const offers = [...rare, ...Array<string>(3).fill('zz A100')].map((gpu_model) => ({ gpu_model }))
  const { get } = await start(t, '', offers)
  const { not_recognised } = (await get('/vocabulary')).json() as { not_recognised: object[] }
  t.like(not_recognised[0], { text: 'zz A100', count: 3 })
  t.is(not_recognised.length, 500)
})

test('the command line sends derived filters to an entrepot, and judges by its own tables where they are refused or ignored', async (t) => {
  const gateway = await start(t, tables(t, HOPPER))
  const items = SPELLINGS.map((gpu_model) =>
    listingText({ listing_id: gpu_model, offer_resource: { gpu_model } }),
  )
  const strict = await startFake(t, { items })
  const lax = await startFake(t, { items, filterSpec: null })
  const listings = async (url: string, ...options: string[]) => {
    const { stdout, stderr } = await runCli(['listings', '-r', url, '--gpu', 'H100', ...options])
    return { ids: JSON.parse(stdout).map((one: { listing_id: string }) => one.listing_id), stderr }
  }
  t.deepEqual((await listings(gateway.url)).ids, ['3', '4'])
  for (const { url } of [strict, lax]) {
    const { ids, stderr } = await listings(url)
    t.deepEqual(ids, ['H100'])
    t.regex(stderr, /1 more do not name a known GPU/)
  }
  t.deepEqual((await listings(gateway.url, '--country', 'JP')).ids, [])
  t.regex(
    (await listings(gateway.url, '--country', 'JP')).stderr,
    /2 more do not say in which country they are/,
  )
})

test('a reload with other tables reads every listing again, also those of the own Registry', async (t) => {
  const fake = await startFake(t, { items: [listingText({ offer_resource: { gpu_model: 'Hopper big' } })] })
  const upstream = { name: 'up', url: fake.url }
  // No period passes, so only the reload itself can be the cause.
  const service = await startRegistry(t, { toml: patientToml([upstream]), clock: manualClock(Date.now()) })
  type Report = { not_recognised: { source: string }[] }
  const unread = async () => ((await service.get('/vocabulary')).json() as Report).not_recognised
  t.is((await unread()).length, 1)
  const own = { storefront_url: 'http://own.example/', offer_resource: { gpu_model: 'Hopper big' } }
  const fields = { listing_id: 'own', accepted_escrows: [], demands: [], ...own }
  t.is((await publish(service.url, ALICE, fields)).status, 201)
  t.is((await unread()).length, 2, 'a report is of what is held now')
  const read = async () => (await service.get('/listings?gpu=H100')).json() as Answer
  t.is((await read()).total_after_filter, 0)
  const more = tables(t, '[[gpus]]\nmodel = "H100"\naliases = ["Hopper big"]\n')
  await service.reload(patientToml([upstream], more))
  await eventually('indexed again', async () => {
    const { items } = await read()
    return items.length === 2 && items.every(({ _meta }) => _meta.gpu?.model === 'H100')
  })
  t.is((await read()).total_after_filter, 2)
})

test('bad rows stop the start, with file and line', async (t) => {
  const place = '\n[[places]]\nsource = "up"\nregion = "x"\ncountry = "Germany"\n'
  const more = tables(t, '[[gpus]]\nmodel = "A 1"\naliases = [""]\n', place)
  const error = await t.throwsAsync(startPatientGateway(t, [], { more }))
  t.regex(error?.message ?? '', /gpus\.toml:3: gpus\[0\]\.aliases\[0\]: is empty/)
  t.regex(error?.message ?? '', /places\.toml:5: places\[0\]\.country: expected a code of two letters/)
})

test('NDJSON and cursors apply derived filters; the last line counts what they cannot judge', async (t) => {
  const { get } = await start(t)
  const { text } = await get('/listings?gpu=A100', { Accept: 'application/x-ndjson' })
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.is(lines.length, 4)
  t.deepEqual(lines[3]._meta.unplaced, { gpu: 1 })
  const first = (await get('/listings?gpu=A100&limit=2')).json()
  const second = (await get(`/listings?gpu=A100&limit=2&cursor=${first.next_cursor}`)).json()
  for (const { unplaced } of [first, second]) t.deepEqual(unplaced, { gpu: 1 })
  const ids = [first, second].flatMap(({ items }) => items as { listing_id: string }[])
  t.deepEqual(ids.map(({ listing_id }) => listing_id).toSorted(), ['0', '1', '2'])
})
