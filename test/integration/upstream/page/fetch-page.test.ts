import test, { type ExecutionContext } from 'ava'
import type { UpstreamOptions } from '../../../../src/domain/source/upstream.ts'
import type { PageRequest } from '../../../../src/domain/walk/walk.ts'
import { composeRequests } from '../../../../src/upstream/interceptors/compose.ts'
import { createFetchPage } from '../../../../src/upstream/page/fetch-page.ts'
import type { UpstreamQuery } from '../../../../src/upstream/push-down.ts'
import { envelopeText, listingText } from '../../../helpers/fake-registry.ts'
import { type ScriptedAnswer, scriptAnswers } from '../../../helpers/scripted-answers.ts'
import { failureOf, upstreamOptions, upstreamQuery } from '../../../helpers/upstream.ts'

const EMPTY = envelopeText([], 0)
const JSON_TYPE = { 'content-type': 'application/json' }
const KEY = 'a key of more than sixteen characters'

/** Fetches from an upstream that answers so. */
function open(t: ExecutionContext, reply: ScriptedAnswer, { path = '', ...options }: Options = {}) {
  const { url, agent, seen } = scriptAnswers(t, () => reply)
  const fetchPage = createFetchPage(
    upstreamOptions({ ...options, url: `${url}${path}` }),
    composeRequests(agent),
  )
  const fetch = (query: Partial<UpstreamQuery> = {}, request: Partial<PageRequest> = {}) =>
    fetchPage(upstreamQuery(query), { offset: 0, limit: 51, ...request })
  return { fetch, seen }
}

type Options = Partial<UpstreamOptions> & { path?: string }

test('a page is requested with the query, the key and the route of the question', async (t) => {
  const { fetch, seen } = open(t, [200, EMPTY, JSON_TYPE], { path: '/registry/', key: KEY })
  await fetch(
    {
      publisher: '0xabc',
      pushed: [
        ['gpu_model', 'in:[H100,RTX 4090]'],
        ['strict.gpu_model', 'true'],
      ],
      ifMatch: 'etag',
      via: ['eu', 'ours'],
    },
    { offset: 41, limit: 111 },
  )
  await fetch({ status: null }, { offset: 50 })
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
  t.is(second?.url.search, '?status=&limit=51&offset=50')
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

test('a 400 about filters is unsupported_filter and names those that it is about', async (t) => {
  const pushed: [string, string][] = [
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
    const error = await failureOf(t, open(t, [400, JSON.stringify({ detail })]).fetch({ pushed }))
    t.deepEqual([error.reason, error.filters], ['unsupported_filter', expected])
  }
  for (const detail of ['offset + limit may not exceed 2000 here', 'cursor: has expired']) {
    const paging = open(t, [400, JSON.stringify({ detail })])
    t.is((await failureOf(t, paging.fetch({ pushed }))).reason, 'http_400', detail)
  }
  t.is((await failureOf(t, open(t, [400, '{}']).fetch())).reason, 'http_400')
})

test('every other status has its reason, and Retry-After is heeded', async (t) => {
  for (const [status, reason] of [
    [204, 'http_204'],
    [508, 'http_508'],
  ] as const)
    t.is((await failureOf(t, open(t, [status, '{}']).fetch())).reason, reason)
  const signed = open(t, [401, '{"detail":{"error":"context_mismatch"}}'])
  t.is((await failureOf(t, signed.fetch())).reason, 'signed_requests_required')
  const MAX = 900_000
  for (const [value, ms] of [
    ['0', null],
    ['2.5', 3000],
    ['-5', null],
    ['120', 120_000],
    [' 5 ', 5000],
    ['Fri, 20 Nov 2015 11:00:00 GMT', null],
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
