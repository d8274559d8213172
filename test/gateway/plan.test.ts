import test, { type ExecutionContext } from 'ava'
import type { Page } from '../../src/domain/page.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import { SourceError } from '../../src/domain/source-error.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'
import type { Filter } from '../../src/filter-spec/filter.ts'
import { parseCriteria } from '../../src/filter-spec/parameters.ts'
import { planned } from '../../src/gateway/plan.ts'
import { createAgent } from '../../src/upstream/agent.ts'
import { fetchFilterSpec } from '../../src/upstream/filter-spec.ts'
import { getFrom } from '../../src/upstream/get.ts'
import { SpecKeeper } from '../../src/upstream/spec-keeper.ts'
import {
  type FakeOptions,
  type FakeRegistry,
  listingText,
  listingTexts,
  startFakeRegistry,
} from '../helpers/fake-registry.ts'
import { liveSource } from '../helpers/live-source.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'
import { filterOf, specBody } from '../helpers/specs.ts'
import { upstreamOptions } from '../upstream/upstream-options.ts'
import { listingQuery } from './gateway-parts.ts'

type Asked = {
  fake: FakeRegistry
  clock: ManualClock
  ask: (filters: ListingQuery['filters'], query?: Partial<ListingQuery>) => Promise<Page>
}

const gpuModel = filterOf('gpu_model')
const region = filterOf('region')
const sla = filterOf('sla', { value_type: 'number' })

/** A planned live source over a fake Registry, asked in a vocabulary of `gpu_model`, `region` and `sla`. */
const start = async (
  t: ExecutionContext,
  fakeOptions: FakeOptions,
  { schema = null, ...options }: Partial<UpstreamOptions> & { schema?: string | null } = {},
): Promise<Asked> => {
  const fake = await startFakeRegistry(fakeOptions)
  const upstream = upstreamOptions({ url: fake.url, ...options })
  const agent = createAgent(upstream)
  t.teardown(async () => {
    await agent.destroy()
    await fake.close()
  })
  const clock = manualClock()
  const spec = new SpecKeeper(fetchFilterSpec(getFrom(upstream, agent)), clock)
  const source = planned({ name: 'elsewhere', spec, schema })(liveSource(upstream, agent))
  const words = new Map<string, Filter>([gpuModel, region, sla].map((filter) => [filter.name, filter]))
  const ask: Asked['ask'] = (filters, query) =>
    source(
      listingQuery({ filters, criteria: parseCriteria({ filters: words }, filters), ...query }),
      new AbortController().signal,
    )
  return { fake, clock, ask }
}

const failure = async (t: ExecutionContext, answer: Promise<Page>): Promise<SourceError> =>
  (await t.throwsAsync(answer, { instanceOf: SourceError })) ?? t.fail()

const ids = ({ items }: Page): string[] => items.map(({ listingId }) => listingId)

/** What of a request was not paging. */
const sent = ({ parameters }: FakeRegistry['requests'][number]): Record<string, string> => {
  const { limit, offset, status, ...filters } = Object.fromEntries(parameters)
  return filters
}

const offers = [
  ['a', 'H100', 'Paris'],
  ['b', 'H100', 'Tokyo'],
  ['c', 'A100', 'Paris'],
].map(([id, gpu_model, place]) =>
  listingText({ listing_id: id, offer_resource: { gpu_model, region: place, sla: 99 } }),
)

test('what is declared alike is sent with the etag of that spec, what is not is applied here', async (t) => {
  const { fake, ask } = await start(t, { items: offers, filterSpec: specBody('one', [gpuModel]) })
  const page = await ask([
    ['gpu_model', 'H100'],
    ['region', 'Paris'],
    ['strict.gpu_model', 'true'],
    ['strict.sla', 'true'],
  ])
  t.deepEqual(ids(page), ['a'])
  t.is(page.total, 1)
  t.is(fake.requests.length, 1)
  t.deepEqual(sent(fake.requests[0]!), { gpu_model: 'H100', 'strict.gpu_model': 'true' })
  t.is(fake.requests[0]?.headers['if-match'], '"one"')
})

test('a filter of the same name that means something else is not sent', async (t) => {
  for (const other of [
    { path: '$.offer_resource.other' },
    { op: 'not_in' },
    { value_type: 'address' },
    { on_missing: 'pass' },
    { alias_kind: 'lower_bound' },
  ] as const) {
    const filterSpec = specBody('one', [filterOf('gpu_model', other)])
    const { fake, ask } = await start(t, { items: offers, filterSpec })
    t.deepEqual(ids(await ask([['gpu_model', 'A100']])), ['c'])
    t.deepEqual(sent(fake.requests[0]!), {})
    t.is(fake.requests[0]?.headers['if-match'], undefined)
  }
})

test('the total is exact where a filter is applied here, whatever page is asked for', async (t) => {
  const items = [
    ...listingTexts('x', 250, { offer_resource: { region: 'Paris' } }),
    ...listingTexts('y', 250, { offer_resource: { region: 'Tokyo' } }),
  ]
  const { fake, ask } = await start(t, { items, filterSpec: specBody('one', [gpuModel]) })
  const page = await ask([['region', 'Tokyo']], { limit: 10, offset: 5 })
  t.is(page.total, 250)
  t.is(page.items.length, 10)
  t.deepEqual(
    fake.requests.map(({ parameters }) => parameters.get('offset')),
    ['0', '200', '400'],
  )
})

test('a source too large to be read for a filter that it lacks is left out by name, after one page', async (t) => {
  const { fake, ask } = await start(
    t,
    { items: listingTexts('x', 401), filterSpec: specBody('one', [gpuModel]) },
    { scanLimit: 400 },
  )
  const error = await failure(
    t,
    ask([
      ['gpu_model', 'H100'],
      ['region', 'Paris'],
      ['sla', '99'],
    ]),
  )
  t.is(error.reason, 'unsupported_filter')
  t.deepEqual(error.filters, ['region', 'sla'])
  t.is(fake.requests.length, 1)
})

test('what other filters leave counts, not what the source holds', async (t) => {
  const items = [...listingTexts('x', 500), ...offers]
  const filterSpec = specBody('one', [filterOf('region')])
  const { ask } = await start(t, { items, filterSpec }, { scanLimit: 10 })
  t.deepEqual(
    ids(
      await ask([
        ['region', 'Paris'],
        ['gpu_model', 'H100'],
      ]),
    ),
    ['a'],
  )
})

test('a spec that has changed is fetched again, and the query planned again, once', async (t) => {
  const { fake, ask } = await start(t, { items: offers, filterSpec: specBody('one', [gpuModel]) })
  t.deepEqual(ids(await ask([['gpu_model', 'H100']])), ['a', 'b'])
  fake.filterSpec = specBody('two', [filterOf('gpu_model', { path: '$.other' }), region])
  const query: [string, string][] = [
    ['gpu_model', 'H100'],
    ['region', 'Paris'],
  ]
  t.deepEqual(ids(await ask(query)), ['a'])
  t.deepEqual(
    fake.requests.slice(1).map((request) => [request.headers['if-match'], sent(request)]),
    [
      ['"one"', { gpu_model: 'H100' }],
      ['"two"', { region: 'Paris' }],
    ],
  )
  t.is(fake.specRequests.length, 2)
})

test('a source that never takes its own etag fails after the second try', async (t) => {
  const { fake, ask } = await start(t, {
    filterSpec: specBody('one', [gpuModel]),
    script: [{ kind: 'status', status: 412 }],
  })
  t.is((await failure(t, ask([['gpu_model', 'H100']]))).reason, 'http_412')
  t.is(fake.requests.length, 2)
})

test('without a filter nothing is learned first, and no etag is sent', async (t) => {
  const { fake, ask } = await start(t, { items: offers, filterSpec: specBody('one', [gpuModel]) })
  t.is((await ask([['region', '']])).total, 3)
  t.is(fake.requests[0]?.headers['if-match'], undefined)
  t.deepEqual(sent(fake.requests[0]!), {})
})

test('a Registry without a filter spec is sent every filter, and what it refuses is applied here', async (t) => {
  const refuse = (name: string) =>
    ({ kind: 'status', status: 400, body: `{"detail":"unknown filter: '${name}'"}` }) as const
  const query: [string, string][] = [
    ['gpu_model', 'H100'],
    ['region', 'Paris'],
    ['sla', '99'],
  ]
  const { fake, ask } = await start(t, {
    items: offers,
    script: [refuse('region'), refuse('sla'), { kind: 'serve' }],
  })
  t.deepEqual(ids(await ask(query)), ['a'])
  t.deepEqual(fake.requests.map(sent), [
    { gpu_model: 'H100', region: 'Paris', sla: '99' },
    { gpu_model: 'H100', sla: '99' },
    {},
  ])
})

test('a 400 about a filter that is declared has the spec fetched again, and the filter counts as lacking', async (t) => {
  const { fake, ask } = await start(t, {
    items: offers,
    filterSpec: specBody('one', [gpuModel, region]),
    script: [{ kind: 'status', status: 400, body: '{"detail":"region: no"}' }, { kind: 'serve' }],
  })
  t.deepEqual(
    ids(
      await ask([
        ['gpu_model', 'H100'],
        ['region', 'Paris'],
      ]),
    ),
    ['a'],
  )
  t.deepEqual(fake.requests.map(sent), [{ gpu_model: 'H100', region: 'Paris' }, { gpu_model: 'H100' }])
  t.is(fake.specRequests.length, 2)
})

test('only a source that declares another schema is not asked', async (t) => {
  const specs = [specBody('one', [], 'vms.compute'), specBody('one', []), null]
  for (const filterSpec of specs) {
    const { ask } = await start(t, { items: offers, filterSpec }, { schema: 'vms.compute' })
    t.is((await ask([])).total, 3)
  }
  const { fake, ask } = await start(
    t,
    { items: offers, filterSpec: specBody('one', [], 'tokens.api') },
    { schema: 'vms.compute' },
  )
  t.is((await failure(t, ask([]))).reason, 'schema_mismatch')
  t.is(fake.requests.length, 0)
})

test('an explanation tells what was sent, and what each filter kept out here and why', async (t) => {
  const items = [...offers, listingText({ listing_id: 'd', offer_resource: { gpu_model: 'H100' } })]
  const { ask } = await start(t, { items, filterSpec: specBody('one', [gpuModel]) })
  const filters: [string, string][] = [
    ['gpu_model', 'H100'],
    ['region', 'Paris'],
    ['sla', '100'],
  ]
  const { explanation } = await ask(filters, { explain: true })
  t.deepEqual(explanation, {
    sent: 'status=open&gpu_model=H100',
    excluded: [
      { filter: 'gpu_model', byValue: 0, missing: 0 },
      { filter: 'region', byValue: 1, missing: 1 },
      { filter: 'sla', byValue: 2, missing: 1 },
    ],
  })
  t.is((await ask(filters)).explanation, undefined)
})
