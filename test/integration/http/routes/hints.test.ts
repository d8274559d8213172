import test from 'ava'
import { listingText } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { openMarket } from '../../../helpers/market.ts'
import { mintKey } from '../../../helpers/seller.ts'

const REGIONS = ['Frankfurt, DE', 'Reykjavik, IS', 'Michigan, US, NA', 'Paris', 'Lyon,FR']

const inRegion = (region: string, gpu_model = 'H200') => ({
  listing_id: `at ${region}`,
  offer_resource: { gpu_model, region },
})

type Answer = {
  status?: number
  detail?: string
  errors?: { path: string; message: string }[]
  total_after_filter?: number
  suggestions?: { query: Record<string, string>; total?: number }[]
}

test('hints: a set that splits a value at its comma is answered as in the protocol, with the JSON array beside it', async (t) => {
  const fake = await startFake(t, { items: REGIONS.map((one) => listingText(inRegion(one))).sort() })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }])
  const read = async (path: string, headers = {}) => (await gateway.get(path, headers)).json() as Answer
  const split = 'region=in:[Frankfurt, DE,Paris,Michigan, US, NA,Lyon,FR]'
  const whole = 'in:["Frankfurt, DE","Paris","Michigan, US, NA","Lyon,FR"]'
  t.like(await read(`/listings?${split}`), {
    total_after_filter: 1,
    suggestions: [{ query: { region: whole }, total: 4 }],
  })
  t.like(await read(`/facets?${split}`), { total: 1, suggestions: [{ query: { region: whole }, total: 4 }] })
  t.is((await gateway.get(`/listings?${split}`, { accept: 'application/x-ndjson' })).status, 200)
  t.is((await gateway.get(`/changes?${split}`)).status, 200)
  t.is((await read(`/listings?region=${whole}`)).total_after_filter, 4)
  for (const [set, total] of [
    ['in:[Paris,Nowhere]', 1],
    ['in:[Paris,DE]', 1],
    ['in:[Nowhere,DE]', 0],
  ] as const) {
    const answer = await read(`/listings?region=${set}`)
    t.deepEqual([answer.total_after_filter, answer.suggestions], [total, undefined], set)
  }
  const excluded = (await gateway.get('/listings?token_exclude=not_in:[0xa,0xb]')).json()
  t.is(excluded.total_after_filter, REGIONS.length, 'a set of a filter that excludes')
  const market = await openMarket(t)
  await market.publish(inRegion('Frankfurt, DE'))
  const plain = (await market.get('/listings?region=in:[Frankfurt, DE]')).json()
  t.deepEqual(Object.keys(plain), ['items', 'count', 'total_after_filter'])
})

test('hints: no text of a seller changes the status of an answer', async (t) => {
  const texts = [
    'H200,A100',
    'exists:true',
    'exists:false',
    'in:[a',
    'not_in:[a,b]',
    'range:[1,2]',
    ' H200',
    'in:["a,b"]',
  ]
  const gateway = await startGateway(t, [
    {
      name: 'a',
      url: (await startFake(t, { items: texts.map((text) => listingText(inRegion(text, text))) })).url,
    },
  ])
  const values = [
    'exists:tru',
    'exists:falsy',
    'H200,A10',
    'in:a',
    'not_in:a,b',
    'range:1,2',
    ' H20',
    'in:[H200,A100]',
    'in:[not_in:[a,b]]',
  ]
  const questions = values.flatMap((value) => [`gpu_model=${value}`, `region=${value}`])
  for (const query of questions)
    for (const path of ['/listings', '/facets'])
      t.is((await gateway.get(`${path}?${query}`)).status, 200, `${path}?${query}`)
  const near = (await gateway.get('/listings?gpu_model=exists:tru')).json() as Answer
  t.deepEqual(near.suggestions, [{ query: { gpu_model: 'in:[exists:true]' }, total: 1 }])
  t.is((await gateway.get('/listings?gpu_model=in:[exists:true]')).json().total_after_filter, 1)
})

test('hints: where nothing matches, near values of any filter are suggested, of sources that the reader may see', async (t) => {
  const open = await startFake(t, { items: [listingText(inRegion('Frankfurt, DE'))] })
  const secret = await startFake(t, { items: [listingText(inRegion('Reykjavik, IS', 'B300'))] })
  const gateway = await startGateway(
    t,
    [
      { name: 'open', url: open.url },
      { name: 'secret', url: secret.url, settings: 'visibility = "private"' },
    ],
    { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } },
  )
  const { bearer } = await mintKey(gateway.url)
  const suggested = async (query: string, headers = {}) =>
    ((await gateway.get(`/listings?${query}`, headers)).json() as Answer).suggestions
  const frankfurt = [{ query: { region: 'Frankfurt, DE' }, total: 1 }]
  t.deepEqual(await suggested('region=frankfurt, de'), frankfurt)
  t.deepEqual(await suggested('region=Frankfurt'), frankfurt)
  t.is(await suggested('region=Europe'), undefined)
  t.is(await suggested('region=reykjavik'), undefined)
  t.deepEqual(await suggested('region=Reykjavik', bearer), [{ query: { region: 'Reykjavik, IS' }, total: 1 }])
  t.is(await suggested('region=Frankfurt&gpu_model=L4'), undefined, 'which would match nothing either')
  t.is(await suggested('gpu_model=B200', bearer), undefined, 'which is another model than B300')
})

test('hints: the 400 for an unknown filter has the deployed sentence, and the filter that is meant', async (t) => {
  const gateway = await startGateway(t, [{ name: 'a', url: (await startFake(t)).url }])
  for (const [name, meant] of [
    ['vram_gb_min', 'gpu_memory_gb_min'],
    ['gpu_ram', 'gpu_memory_gb_min'],
    ['cpu_count_min', 'vcpu_count_min'],
    ['location', 'region'],
    ['gpu_modle', 'gpu_model'],
    ['region_', 'region'],
    ['ram_gb_mn', 'ram_gb_min'],
    ['disk_gb_mni', 'disk_gb_min'],
    ['ram_gb_max', undefined],
    ['gpus', 'gpus_min'],
    ['num_gpus', 'gpus_min'],
    ['uptime', 'sla_min'],
    ['vrom_gb_min', undefined],
    ['xpu_count_min', undefined],
  ] as const) {
    const refused = (await gateway.get(`/listings?${name}=80`)).json() as Answer
    t.is(refused.detail, `unknown filter: '${name}'`)
    t.deepEqual(refused.suggestions, meant && [{ query: { [meant]: '80' } }], name)
    t.regex(refused.errors![0]!.message, meant ? /^did you mean |^that is / : /^known are /, name)
  }
})
