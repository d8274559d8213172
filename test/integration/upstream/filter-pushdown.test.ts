import test from 'ava'
import fc from 'fast-check'
import { SourceError } from '../../../src/domain/source/source-error.ts'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import type { Filter } from '../../../src/filter-spec/filter.ts'
import { parseCriteria } from '../../../src/filter-spec/parameters.ts'
import { type Behaviour, listingText, listingTexts, type SeenRequest } from '../../helpers/fake-registry.ts'
import { startFake } from '../../helpers/gateway.ts'
import { runs } from '../../helpers/runs.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'
import { failureOf, filtered, idsOf, openUpstream, PAST_REVALIDATE, textsOf } from '../../helpers/upstream.ts'

const MODEL = filterOf('gpu_model')
const REGION = filterOf('region')
const SLA = filterOf('sla', { value_type: 'number' })

/** A query in our vocabulary. */
const asking = (...filters: (readonly [string, string])[]) => filtered([MODEL, REGION, SLA], ...filters)

const OFFERS = [
  ['a', 'H100', 'Paris'],
  ['b', 'H100', 'Tokyo'],
  ['c', 'A100', 'Paris'],
].map(([listing_id, gpu_model, region]) =>
  listingText({ listing_id, offer_resource: { gpu_model, region, sla: 99 } }),
)

const SPEC = specBody('one', [MODEL])
const BOTH = specBody('one', [MODEL, REGION])

/** What of a request is not paging. */
function sent({ parameters }: SeenRequest): Record<string, string> {
  const { limit, offset, status, ...filters } = Object.fromEntries(parameters)
  return filters
}

test('a filter that is declared identically is sent with the etag, the others are applied here', async (t) => {
  const { fake, read } = await openUpstream(t, { items: OFFERS, filterSpec: SPEC })
  const query = asking(
    ['gpu_model', 'H100'],
    ['region', 'Paris'],
    ['strict.gpu_model', 'true'],
    ['strict.sla', 'true'],
  )
  const reading = await read(query)
  t.deepEqual([idsOf(reading), reading.total], [['a'], 1])
  t.deepEqual(fake.requests.map(sent), [{ gpu_model: 'H100', 'strict.gpu_model': 'true' }])
  t.is(fake.requests[0]?.headers['if-match'], '"one"')
})

test('a filter of the same name with another meaning is not sent', async (t) => {
  for (const other of [
    { path: '$.offer_resource.other' },
    { op: 'not_in' },
    { value_type: 'address' },
    { on_missing: 'pass' },
    { alias_kind: 'lower_bound' },
  ] as const) {
    const filterSpec = specBody('one', [filterOf('gpu_model', other)])
    const { fake, read } = await openUpstream(t, { items: OFFERS, filterSpec })
    t.deepEqual(idsOf(await read(asking(['gpu_model', 'A100']))), ['c'])
    t.deepEqual(fake.requests.map(sent), [{}])
    t.is(fake.requests[0]?.headers['if-match'], undefined)
  }
})

test('a set of values with commas is applied here, since a deployed Registry would read its pieces', async (t) => {
  const items = ['Paris, FR', 'Tokyo, JP', 'Paris', '"Paris'].map((region, n) =>
    listingText({ listing_id: String(n), offer_resource: { region } }),
  )
  const { fake, read } = await openUpstream(t, { items, filterSpec: BOTH })
  t.deepEqual(idsOf(await read(asking(['region', 'in:["Paris, FR","Tokyo, JP"]']))), ['0', '1'])
  t.deepEqual(idsOf(await read(asking(['region', 'in:["Paris, FR"]']))), ['0'])
  t.deepEqual(fake.requests.map(sent), [{}])
  t.deepEqual(idsOf(await read(asking(['region', 'in:["Paris,Paris]']))), ['2', '3'], 'no JSON: as deployed')
})

test('without a filter nothing is sent, and no etag', async (t) => {
  const { fake, read } = await openUpstream(t, { items: OFFERS, filterSpec: SPEC })
  t.is((await read(asking(['region', '']))).total, 3)
  t.deepEqual([sent(fake.requests[0]!), fake.requests[0]?.headers['if-match']], [{}, undefined])
})

test('an upstream without a filter spec, or whose filter spec cannot be fetched, is sent no filter', async (t) => {
  const tooLong = { ...SPEC, filler: 'x'.repeat(2 ** 20) }
  for (const filterSpec of [null, { broken: true }, tooLong]) {
    // Its gpu_model means something else, so its answer would be empty.
    const matches = (_: unknown, parameters: URLSearchParams) => !parameters.has('gpu_model')
    const { fake, read } = await openUpstream(t, { items: OFFERS, filterSpec, matches })
    t.deepEqual(idsOf(await read(asking(['gpu_model', 'H100']))), ['a', 'b'])
    t.deepEqual(fake.requests.map(sent), [{}])
  }
})

test('where filters are applied here, any page of the matches is exact', async (t) => {
  const items = listingTexts('x', 500).map((text, n) =>
    listingText({ ...JSON.parse(text), offer_resource: { region: n % 2 ? 'Paris' : 'Tokyo' } }),
  )
  const matching = items.filter((_, n) => n % 2)
  const { read } = await openUpstream(t, { items, filterSpec: SPEC })
  const query = asking(['region', 'Paris'])
  const first = await read(query, { count: 10 })
  t.like(first, { total: 250, hasMore: true })
  t.deepEqual(textsOf(first), matching.slice(0, 10))
  const { position, listingId } = first.listings.at(-1)!
  const rest = await read(query, { after: { position, listingId }, offsetHint: 10, count: 500 })
  t.deepEqual(textsOf(rest), matching.slice(10))
  t.false(rest.hasMore)
})

test('scan_limit counts listings after the sent filters, not all of the upstream', async (t) => {
  const items = [...listingTexts('x', 500), ...OFFERS]
  const filterSpec = specBody('one', [REGION])
  const { read } = await openUpstream(t, { items, filterSpec }, { scanLimit: 10 })
  t.deepEqual(idsOf(await read(asking(['region', 'Paris'], ['gpu_model', 'H100']))), ['a'])
})

test('a 412 has the filter spec fetched again, and the query is sent by the new one', async (t) => {
  const { fake, read } = await openUpstream(t, { items: OFFERS, filterSpec: SPEC })
  t.deepEqual(idsOf(await read(asking(['gpu_model', 'A100']))), ['c'])
  fake.filterSpec = specBody('two', [filterOf('gpu_model', { path: '$.other' }), REGION])
  t.deepEqual(idsOf(await read(asking(['gpu_model', 'H100'], ['region', 'Paris']))), ['a'])
  t.deepEqual(
    fake.requests.slice(1).map((request) => [request.headers['if-match'], sent(request)]),
    [
      ['"one"', { gpu_model: 'H100' }],
      ['"two"', { region: 'Paris' }],
    ],
  )
  t.is(fake.specRequests.length, 2)
})

test('an upstream that refuses its own etag fails after few requests', async (t) => {
  const script: Behaviour[] = [{ kind: 'status', status: 412 }]
  const { fake, read } = await openUpstream(t, { filterSpec: SPEC, script })
  t.is((await failureOf(t, read(asking(['gpu_model', 'H100'])))).reason, 'http_412')
  t.true(fake.requests.length <= 4)
})

test('a filter refused with 400 is applied here, all filters after a second refusal', async (t) => {
  const refuse = (name: string): Behaviour => ({
    kind: 'status',
    status: 400,
    body: `{"detail":"${name}: no"}`,
  })
  for (const [script, expected] of [
    [
      [refuse('region'), { kind: 'serve' }],
      [{ gpu_model: 'H100', region: 'Paris' }, { gpu_model: 'H100' }],
    ],
    [
      [refuse('region'), refuse('gpu_model'), { kind: 'serve' }],
      [{ gpu_model: 'H100', region: 'Paris' }, { gpu_model: 'H100' }, {}],
    ],
  ] satisfies [Behaviour[], object[]][]) {
    const { fake, read } = await openUpstream(t, { items: OFFERS, filterSpec: BOTH, script })
    t.deepEqual(idsOf(await read(asking(['gpu_model', 'H100'], ['region', 'Paris']))), ['a'])
    t.deepEqual(fake.requests.map(sent), expected)
    t.true(fake.specRequests.length > 1)
  }
})

test('after a 500 to filters, an unfiltered read is preferred to a stale Reading', async (t) => {
  const script: Behaviour[] = [{ kind: 'serve' }, { kind: 'status', status: 500 }, { kind: 'serve' }]
  const { read, clock } = await openUpstream(t, { items: OFFERS, filterSpec: BOTH, script })
  const query = asking(['gpu_model', 'H100'])
  t.false((await read(query)).stale)
  clock.advance(PAST_REVALIDATE)
  const reading = await read(query)
  t.deepEqual([idsOf(reading), reading.stale, reading.asOf], [['a', 'b'], false, clock.now()])
})

const NAMES = ['a', 'b', 'c'] as const
const OURS = new Map<string, Filter>(NAMES.map((name) => [name, filterOf(name)]))
const SCAN_LIMIT = 30

/** How a Registry may have a filter of ours: identically, with another meaning, or not at all. */
const declared = fc.constantFrom<((name: string) => Filter) | null>(
  (name) => filterOf(name),
  (name) => filterOf(name),
  (name) => filterOf(name, { on_missing: 'pass' }),
  (name) => filterOf(name, { op: 'not_in' }),
  (name) => filterOf(name, { path: '$.offer_resource.d' }),
  null,
)
const offer = fc.record(
  Object.fromEntries([...NAMES, 'd'].map((name) => [name, fc.constantFrom('x', 'y', 7)])),
  { requiredKeys: [] },
)

test('whatever filters a Registry declares or has changed, its answer is exact or fails', async (t) => {
  const declaration = fc.tuple(declared, declared, declared)
  const value = fc.constantFrom('x', 'y', 'in:[x,y]', '')
  const asked = fc.array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 4 })
  const fake = await startFake(t)
  const tried = runs(150)
  const seen = { answered: 0, skipped: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(offer, { maxLength: 60, size: 'max' }),
      declaration,
      fc.option(declaration),
      asked,
      fc.integer({ min: 1, max: 60 }),
      async (offers, now, before, filters, count) => {
        fake.items = offers.map((offer_resource, n) =>
          listingText({ listing_id: `l-${100 + n}`, offer_resource }),
        )
        const specOf = (etag: string, how: typeof now) =>
          specBody(
            etag,
            NAMES.flatMap((name, n) => how[n]?.(name) ?? []),
          )
        fake.filterSpec = before === null ? null : specOf('before', before)
        const { read, ready } = await openUpstream(t, {}, { fake, scanLimit: SCAN_LIMIT })
        await ready
        fake.filterSpec = specOf('now', now)
        const criteria = parseCriteria({ filters: OURS }, filters)
        const truth = fake.items.filter((text) => matchesAll(criteria, JSON.parse(text)))
        try {
          const reading = await read({ filters, criteria }, { count })
          seen.answered++
          t.deepEqual(textsOf(reading), truth.slice(0, Math.max(count, reading.listings.length)))
          t.is(reading.total, truth.length)
        } catch (error) {
          if (!(error instanceof SourceError)) throw error
          seen.skipped++
          t.is(error.reason, 'unsupported_filter')
          t.true(error.filters.length > 0 && fake.items.length > SCAN_LIMIT)
        }
      },
    ),
    { numRuns: tried, includeErrorInReport: true },
  )
  t.true(seen.answered > tried / 5 && seen.skipped > tried / 30, JSON.stringify(seen))
})
