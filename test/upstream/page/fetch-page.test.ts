import { gzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import type { ListingQuery } from '../../../src/domain/query.ts'
import type { UpstreamOptions } from '../../../src/domain/source/upstream.ts'
import { createFetchPage, type PageRequest } from '../../../src/upstream/page/fetch-page.ts'
import { envelopeText, listingText } from '../../helpers/fake-registry.ts'
import { type ScriptedAnswer, scriptAnswers } from '../../helpers/scripted-answers.ts'
import { failureOf, listingQuery, upstreamOptions } from '../../helpers/upstream.ts'

const EMPTY = envelopeText([], 0)
const JSON_TYPE = { 'content-type': 'application/json' }
const KEY = 'a key of more than sixteen characters'

/** Fetches from an upstream that answers so. */
function open(t: ExecutionContext, reply: ScriptedAnswer, { path = '', ...options }: Options = {}) {
  const { url, agent, seen } = scriptAnswers(t, () => reply)
  const fetchPage = createFetchPage(upstreamOptions({ ...options, url: `${url}${path}` }), agent)
  const fetch = (query: Partial<ListingQuery> = {}, request: Partial<PageRequest> = {}) =>
    fetchPage(listingQuery(query), { offset: 0, limit: 51, ...request })
  return { fetch, seen }
}

type Options = Partial<UpstreamOptions> & { path?: string }

test('a page is requested with the query, the key and the route of the question', async (t) => {
  const { fetch, seen } = open(t, [200, EMPTY, JSON_TYPE], { path: '/registry/', key: KEY })
  await fetch(
    {
      publisher: '0xabc',
      filters: [
        ['gpu_model', 'in:[H100,RTX 4090]'],
        ['strict.gpu_model', 'true'],
      ],
      ifMatch: 'etag',
      via: ['eu', 'ours'],
    },
    { offset: 41, limit: 111 },
  )
  await fetch({ status: null }, { offset: 50, resume: 'sealed/=' })
  const [first, second] = seen
  t.is(first?.url.pathname, '/registry/listings')
  t.deepEqual(Object.fromEntries(first?.url.searchParams ?? []), {
    status: 'open',
    publisher: '0xabc',
    gpu_model: 'in:[H100,RTX 4090]',
    'strict.gpu_model': 'true',
    limit: '111',
    offset: '41',
  })
  t.like(first?.headers, {
    accept: 'application/json',
    'accept-encoding': 'gzip, br',
    authorization: `Bearer ${KEY}`,
    'if-match': '"etag"',
    'cdn-loop': 'eu, ours',
    via: '1.1 eu, 1.1 ours',
  })
  t.is(second?.url.search, '?status=&limit=51&cursor=sealed%2F%3D')
})

test('an id is percent-encoded; one that cannot be a path segment causes no request', async (t) => {
  const id = 'far/odd id%2F?'
  const { fetch, seen } = open(t, [200, `{"listing":${listingText({ listing_id: id })}}`, JSON_TYPE])
  t.is((await fetch({ listingId: id })).items[0]?.listingId, id)
  for (const impossible of ['.', '..', '\ud800']) t.is((await fetch({ listingId: impossible })).received, 0)
  t.deepEqual(
    seen.map(({ url }) => url.pathname),
    ['/listings/far%2Fodd%20id%252F%3F'],
  )
})

const ROW = listingText({ listing_id: 'a' })
const MISSING = '"sources":[{"registry":"curated","state":"unavailable","reason":"timeout"}]'

test('the answer to one id holds that listing, or states that it does not exist', async (t) => {
  const ask = async (reply: ScriptedAnswer, options: Partial<UpstreamOptions> = {}) => {
    const page = await open(t, reply, options).fetch({ listingId: 'a' })
    return [page.items.map(({ listingId }) => listingId).join(), page.missing?.length ?? 0]
  }
  t.deepEqual(await ask([200, `{"listing":${ROW}}`, JSON_TYPE]), ['a', 0])
  t.deepEqual(await ask([200, ROW, JSON_TYPE]), ['a', 0])
  t.deepEqual(await ask([404, '{"detail":"Listing not found"}', JSON_TYPE]), ['', 0])
  t.deepEqual(await ask([404, '{}', { 'content-type': 'application/problem+json' }]), ['', 0])
  const incomplete = `{"listing":${ROW},"complete":false,${MISSING}}`
  t.deepEqual(await ask([200, incomplete, JSON_TYPE], { kind: 'gateway' }), ['a', 1])
  t.deepEqual(await ask([200, incomplete, JSON_TYPE]), ['a', 1])
})

test('an answer that is not about the id is a failure', async (t) => {
  const ask = async (reply: ScriptedAnswer, options: Partial<UpstreamOptions> = {}) =>
    (await failureOf(t, open(t, reply, options).fetch({ listingId: 'a' }))).reason
  t.is(await ask([200, `{"listing":${listingText({ listing_id: 'A' })}}`, JSON_TYPE]), 'bad_envelope')
  t.is(await ask([200, '{"status":"ok"}', JSON_TYPE]), 'bad_envelope')
  t.is(await ask([200, '<html>', JSON_TYPE]), 'not_json')
  t.is(await ask([200, `{"listing":${ROW.replace('[]', `["${'x'.repeat(2e5)}"]`)}}`, JSON_TYPE]), 'too_large')
  t.is(await ask([404, '<html>', { 'content-type': 'text/html' }]), 'http_404')
  t.is(await ask([404, `{${MISSING}}`, JSON_TYPE], { kind: 'gateway' }), 'http_404')
})

test('a 400 about filters is unsupported_filter and names those that it is about', async (t) => {
  const filters: [string, string][] = [
    ['gpu_model', 'H100'],
    ['min_gpu', '2'],
    ['strict.region', 'true'],
  ]
  for (const [detail, expected] of [
    ["unknown filter: 'min_gpu'", ['min_gpu']],
    ["gpu_model: expected integer, got 'H100'", ['gpu_model']],
    ['strict.region: unknown filter', ['region']],
    ['no', ['gpu_model', 'min_gpu', 'region']],
  ] as const) {
    const error = await failureOf(t, open(t, [400, JSON.stringify({ detail })]).fetch({ filters }))
    t.deepEqual([error.reason, error.filters], ['unsupported_filter', expected])
  }
  for (const detail of ['offset + limit may not exceed 2000 here', 'cursor: has expired']) {
    const paging = open(t, [400, JSON.stringify({ detail })])
    t.is((await failureOf(t, paging.fetch({ filters }))).reason, 'http_400', detail)
  }
  t.is((await failureOf(t, open(t, [400, '{}']).fetch())).reason, 'http_400')
})

test('every other status has its reason, and Retry-After is heeded', async (t) => {
  for (const [status, reason] of [
    [204, 'http_204'],
    [302, 'http_302'],
    [401, 'unauthorized'],
    [403, 'unauthorized'],
    [404, 'http_404'],
    [412, 'http_412'],
    [500, 'http_500'],
    [508, 'http_508'],
  ] as const)
    t.is((await failureOf(t, open(t, [status, '{}']).fetch())).reason, reason)
  const signed = open(t, [401, '{"detail":{"error":"context_mismatch"}}'])
  t.is((await failureOf(t, signed.fetch())).reason, 'signed_requests_required')
  const MAX = 900_000
  for (const [value, ms] of [
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5000],
    ['Fri, 20 Nov 2015 11:00:00 GMT', 0],
    ['Sat, 20 Nov 2066 12:00:00 GMT', MAX],
    ['9'.repeat(400), MAX],
    ['', null],
    ['soon', null],
    ['-1x', null],
  ] as const) {
    const error = await failureOf(t, open(t, [429, '{}', { 'retry-after': value }]).fetch())
    t.deepEqual([error.reason, error.retryAfterMs], ['rate_limited', ms], value)
  }
})

test('an answer that repeats the key is refused, and no error message holds the key', async (t) => {
  const echo = envelopeText([listingText({ oracle_address: `Bearer ${KEY}` })], 1)
  for (const body of [echo, gzipSync(echo)]) {
    const headers: Record<string, string> = typeof body === 'string' ? {} : { 'content-encoding': 'gzip' }
    const error = await failureOf(t, open(t, [200, body, headers], { key: KEY }).fetch())
    t.is(error.reason, 'bad_envelope')
    t.false(JSON.stringify([error.message, error.stack, String(error.cause)]).includes(KEY))
  }
  t.is((await open(t, [200, echo]).fetch()).received, 1)
})

test('cache directives and age come with the page', async (t) => {
  const headers = { 'cache-control': 'max-age=5, private', age: '3' }
  const expected = { maxAgeSeconds: 5, mayServeStale: true, ageSeconds: 3 }
  t.deepEqual((await open(t, [200, EMPTY, headers]).fetch()).about.directives, {
    ...expected,
    mayStore: false,
  })
  t.like((await open(t, [200, EMPTY, headers], { key: KEY }).fetch()).about.directives, { mayStore: true })
})
