import test from 'ava'
import { ConfigError } from '../../../src/errors.ts'
import { renderFilterSpec } from '../../../src/filter-spec/filter.ts'
import { readFilterSpec } from '../../../src/filter-spec/load.ts'
import { eventually } from '../../helpers/eventually.ts'
import { Follower } from '../../helpers/follower.ts'
import { patientToml, startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { ADMIN, type RunningService, startRegistry } from '../../helpers/registry.ts'
import { ALICE, BOB, publish } from '../../helpers/seller.ts'
import { ed25519Key } from '../../helpers/signed-line.ts'
import { CAROL, type Item, itemsOf, offer, openMarket, SHOPS, shown } from './shops.ts'

const SPEC = JSON.parse(renderFilterSpec(readFilterSpec('config/filter-spec.yaml')))

const sell = (service: RunningService, fields: object, seller = ALICE) =>
  publish(service.url, seller, {
    listing_id: 'own',
    storefront_url: 'https://alice.example/shop',
    offer_resource: { gpu_model: 'A100', gpu_count: 1, region: 'Oslo' },
    ...fields,
  })

test('rules: what one denies is in no answer of any upstream, and stays in the own Registry, which it does not name', async (t) => {
  const service = await openMarket(t, `[[curation.rules]]\ndeny = { publisher = ["${ALICE.address}"] }`)
  t.is((await sell(service, {})).status, 201)
  const left = ['held/held-carol', 'live/live-carol', 'local/own']
  for (const query of ['', '?sort=price']) t.deepEqual(await shown(service, query), left)
  const lines = (await service.get('/listings', { Accept: 'application/x-ndjson' })).text.trim().split('\n')
  t.is(lines.length, left.length + 1)
  t.is((await service.get('/listings/shared')).status, 404)
  const facets = (await service.get('/facets?by=gpu_model')).json() as { total: number }
  t.is(facets.total, 3)
  const { sources } = (await service.get('/sources')).json() as { sources: { listings: number }[] }
  t.deepEqual(
    sources.map(({ listings }) => listings),
    [1, 1, 1],
  )
})

test('rules: the best copy that `only` keeps decides, also after a change', async (t) => {
  const h100 = '[[curation.rules]]\nsource = "held"\nonly = { gpu_model = ["H100", "A100"] }\n'
  const service = await openMarket(
    t,
    `${h100}[[curation.rules]]\nsource = "local"\nonly = { gpu = "A100" }\nlabel = "own"`,
  )
  t.is((await sell(service, {})).status, 201)
  t.deepEqual(await shown(service), ['held/held-carol', 'live/live-carol', 'live/shared', 'local/own'])
  t.deepEqual(
    (await itemsOf(service, '?gpu_model=H100')).map(({ _meta }) => _meta.also_in),
    [[]],
  )
  const one = (await service.get('/listings/shared')).json() as { listing: Item }
  t.deepEqual([one.listing._meta.registry, one.listing._meta.also_in], ['live', []])
  const { facets } = (await service.get('/facets?by=gpu_model')).json() as {
    facets: { gpu_model: { values: { value: string; count: number }[] } }
  }
  t.deepEqual(Object.fromEntries(facets.gpu_model.values.map(({ value, count }) => [value, count])), {
    A100: 2,
    H100: 1,
    H200: 1,
  })
  const models = (await itemsOf(service)).map(({ listing_id, _meta }) => [listing_id, _meta.label])
  t.deepEqual(Object.fromEntries(models), {
    own: 'own',
    shared: undefined,
    'held-carol': undefined,
    'live-carol': undefined,
  })
  const other = { offer_resource: { gpu_model: 'H200', gpu_count: 1, region: 'Oslo' } }
  t.is((await sell(service, other)).status, 201)
  t.deepEqual(await shown(service), ['held/held-carol', 'live/live-carol', 'live/shared'])
  t.deepEqual(await shown(service, '?sort=price'), ['held/held-carol', 'live/live-carol', 'live/shared'])
})

test('rules: a source does not know a publisher that a rule denies there, so it misses no listing of that publisher', async (t) => {
  const service = await openMarket(t, '')
  const missedIn = async (): Promise<unknown> =>
    (await itemsOf(service)).find(({ listing_id }) => listing_id === 'live-carol')?._meta.not_in
  t.deepEqual(await missedIn(), ['held'])
  await service.reload(`[[curation.rules]]\nsource = "held"\ndeny = { publisher = ["${CAROL}"] }`)
  t.is(await missedIn(), undefined)
})

for (const [how, only, sent] of [
  ['that a source declares are sent to it', 'gpu_model', 'H200'],
  ['that a source lacks are applied to what it sends', 'gpu', null],
] as const)
  test(`rules: filters of \`only\` ${how}, and no more is held than they leave`, async (t) => {
    const items = [offer('a', 0, 'H200', 3), offer('b', 1, 'A100', 2), offer('c', 0, 'H200', 1)]
    const fake = await startFake(t, { items, publishers: SHOPS, filterSpec: SPEC, hasCounts: true })
    const upstreams = [{ name: 'large', url: fake.url, settings: 'max_listings = 2' }]
    const service = await startPatientGateway(t, upstreams, {
      more: `[[curation.rules]]\nonly = { ${only} = "H200" }\nlabel = "unverified"`,
    })
    const reply = (await service.get('/listings')).json() as { complete: boolean; items: Item[] }
    t.true(reply.complete)
    t.deepEqual(
      reply.items.map(({ listing_id, _meta }) => [listing_id, _meta.label]),
      [
        ['a', 'unverified'],
        ['c', 'unverified'],
      ],
    )
    const asked = fake.requests.map(({ parameters }) => parameters.get(only))
    t.deepEqual(new Set(asked), new Set([sent]))
    t.is((await service.get('/listings/b')).status, 404)
    const { sources } = (await service.get('/sources')).json() as { sources: object[] }
    t.like(sources.at(-1), { state: 'loaded', listings: 2 })
  })

for (const only of ['gpu_model = "H200"', 'gpu = "H200"'])
  test(`rules: changes of a source arrive as far as ${only} keeps it, and none is missed`, async (t) => {
    const inner = await startRegistry(t, {})
    const machine = (gpu_model: string) => ({ offer_resource: { gpu_model, gpu_count: 1, region: 'Oslo' } })
    await sell(inner, { listing_id: 'first', ...machine('H200') })
    await sell(inner, { listing_id: 'other', ...machine('A100') })
    const upstreams = [{ name: 'inner', url: inner.url, settings: 'refresh_seconds = 3600' }]
    const outer = await startPatientGateway(t, upstreams, {
      environment: { REGISTRY_ADMIN_API_KEY: 'admin' },
      more: `[[curation.rules]]\nonly = { ${only} }`,
    })
    const source = async () => {
      const { sources } = (await outer.get('/admin/sources', ADMIN)).json()
      return (sources as { followed?: object; missed_changes: number; listings: number }[]).at(-1)!
    }
    await eventually('followed', async () => (await source()).followed)
    for (const [id, model, expected] of [
      ['second', 'A100', ['first']],
      ['third', 'H200', ['first', 'third']],
      ['other', 'H200', ['first', 'other', 'third']],
      ['first', 'A100', ['other', 'third']],
    ] as const) {
      await sell(inner, { listing_id: id, ...machine(model) })
      await eventually(`${id} is ${model}`, async () => {
        const listed = await shown(outer)
        return listed.join() === expected.map((name) => `inner/${name}`).join()
      })
    }
    t.like(await source(), { listings: 2, missed_changes: 0 })
  })

test('rules: a publisher that is denied everywhere is named nowhere and cannot publish', async (t) => {
  const service = await openMarket(t, '')
  const names = async () => (await service.get('/publishers')).text
  const stats = async () => (await service.get('/api/v1/system/stats')).json()
  t.is((await sell(service, {})).status, 201)
  t.is((await publish(service.url, BOB, { listing_id: 'bobs' })).status, 201)
  t.true((await names()).includes(ALICE.address.toLowerCase()))
  await service.reload(`[curation]\ndeny_publishers = ["${ALICE.address}"]`)
  t.deepEqual(await shown(service), ['held/held-carol', 'live/live-carol', 'local/bobs'])
  t.false((await names()).includes(ALICE.address.toLowerCase()))
  t.deepEqual((await service.get(`/publishers?identifier=${ALICE.address}`)).json(), { items: [], count: 0 })
  t.is((await service.get('/publishers/1')).status, 404)
  t.like(await stats(), { publisher_count: 1, order_count: 1 })
  const refused = await sell(service, { listing_id: 'more' })
  t.is(refused.status, 403)
  t.regex(refused.text, /has blocked this: its configuration denies it/)
})

test('rules: a reload applies other ones, and a position of before is gone', async (t) => {
  const service = await openMarket(t, '')
  const follower = new Follower(service, { query: 'sources=held' })
  await follower.begin()
  t.is((await follower.ask()).status, 200)
  await service.reload('[[curation.rules]]\nsource = "live"\nonly = { gpu_model = "H100" }')
  t.is((await follower.ask()).status, 410)
  await follower.begin()
  t.deepEqual(await shown(service), ['held/held-carol', 'held/shared'])
  await service.reload(
    '[[curation.rules]]\nsource = "held"\ndeny = { storefront = ["https://carol.example"] }',
  )
  t.is((await follower.ask()).status, 410)
  t.deepEqual(await shown(service), ['held/shared', 'live/live-carol'])
})

test('rules: the operator sees what each leaves out of a source, readers do not', async (t) => {
  const service = await openMarket(
    t,
    `[curation]\ndeny_publishers = ["${ALICE.address}"]\n[[curation.rules]]\nonly = { gpu_model = "H200" }`,
  )
  await shown(service)
  const reports = (await service.get('/admin/sources', ADMIN)).json() as {
    sources: { registry: string; left_out?: unknown }[]
  }
  t.deepEqual(
    reports.sources.map(({ registry, left_out }) => [registry, left_out]),
    [
      ['local', [{ rule: 'curation.deny_publishers', listings: 0 }]],
      [
        'held',
        [
          { rule: 'curation.deny_publishers', listings: 1 },
          { rule: 'curation.rules[0]', listings: null },
        ],
      ],
      [
        'live',
        [
          // Her listing there does not match, so it is not held.
          { rule: 'curation.deny_publishers', listings: 0 },
          { rule: 'curation.rules[0]', listings: null },
        ],
      ],
    ],
  )
  t.false((await service.get('/sources')).text.includes('left_out'))
})

test('rules: a filter that is not known here, or a value that it cannot have, refuses the start at its line', async (t) => {
  for (const [only, what] of [
    ['nothing = "x"', 'unknown filter'],
    ['gpu = "H1000X"', 'H1000X'],
    ['gpu_count_min = "many"', 'gpu_count_min'],
  ] as const) {
    const error = await t.throwsAsync(
      startRegistry(t, { toml: `[[curation.rules]]\nsource = "local"\nonly = { ${only} }` }),
      { instanceOf: ConfigError },
    )
    t.regex(error!.message, /gateway\.toml:3: curation\.rules\[0\]\.only\.\w+: /)
    t.true(error!.message.includes(what), error!.message)
  }
})

test('rules: a copy whose publisher is not known may be of a denied one, so it is left out of an incomplete answer', async (t) => {
  const items = [offer('a', 0, 'H200', 3), offer('b', 1, 'H200', 2)]
  const away = { kind: 'status', status: 503 } as const
  {
    const fake = await startFake(t, { items, publishers: SHOPS, publisherScript: away })
    const upstreams = [{ name: 'eu', url: fake.url }]
    const service = await startPatientGateway(t, upstreams, {
      more: `[curation]\ndeny_publishers = ["${ALICE.address}"]`,
    })
    const answer = (await service.get('/listings')).json() as { complete: boolean; sources: object[] }
    t.like(answer, { total_after_filter: 0, complete: false })
    t.like(answer.sources.at(-1), {
      registry: 'eu/publishers',
      state: 'unavailable',
      reason: 'publishers_unknown',
    })
    const facets = (await service.get('/facets?by=gpu')).json()
    t.like(facets, { total: 0, complete: false })
    await service.reload(
      patientToml(upstreams, '[[curation.rules]]\ndeny = { storefront = ["https://carol.example"] }'),
    )
    t.deepEqual(await shown(service), ['eu/a'])
    const other = (await service.get('/listings')).json()
    t.true(other.complete, 'a storefront says enough about a copy without a publisher')
    for (const id of ['b', 'nothing']) t.is((await service.get(`/listings/${id}`)).status, 404)
    await service.reload(patientToml(upstreams, ''))
    t.like((await service.get('/facets?by=gpu')).json(), { total: 2, sellers: 2 })
  }
})

test('rules: a publisher with a key of Ed25519 at a Registry of the plain line is known as any other', async (t) => {
  const key = `ed25519:${ed25519Key(Buffer.alloc(32, 9)).party.identifier}`
  const fake = await startFake(t, {
    items: [offer('keys', 0, 'H200', 3), offer('carols', 1, 'A100', 2)],
    publishers: [
      [0, key, SHOPS[0][2]],
      [1, CAROL, SHOPS[1][2]],
    ],
  })
  const start = (more = '') => startPatientGateway(t, [{ name: 'plain', url: fake.url }], { more })
  const idsOf = async (service: RunningService, query = '') => {
    const { status, json } = await service.get(`/listings${query}`)
    const { complete, items } = json() as {
      complete: boolean
      items: (Item & { _meta: { publisher?: string } })[]
    }
    return [status, complete, ...items.map(({ listing_id, _meta }) => `${listing_id} of ${_meta.publisher}`)]
  }
  const both = [`keys of ${key}`, `carols of ${CAROL}`]
  const open = await start()
  t.deepEqual(await idsOf(open), [200, true, ...both])
  t.deepEqual(await idsOf(open, `?publisher=${key}`), [200, true, both[0]])
  const denying = (publisher: string) => start(`[curation]\ndeny_publishers = ["${publisher}"]\n`)
  t.deepEqual(await idsOf(await denying(ALICE.address)), [200, true, ...both])
  t.deepEqual(await idsOf(await denying(key)), [200, true, both[1]])
})
