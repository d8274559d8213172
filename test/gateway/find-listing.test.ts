import test from 'ava'
import { type FakeOptions, listingText } from '../helpers/fake-registry.ts'
import { startFake, startGateway } from '../helpers/gateway.ts'
import type { RunningService } from '../helpers/registry.ts'
import { agentAt } from '../mcp/agent.ts'

const DOWN = { listingScript: { kind: 'status', status: 500 } } as const
const row = (storefront_url: string, more: object = {}) =>
  listingText({ listing_id: 'x', storefront_url, ...more })
const publishers = [[1, `0x${'a'.repeat(40)}`]] as const

/** A gateway over a better source and a worse one. */
async function open(
  t: Parameters<typeof startFake>[0],
  good: FakeOptions,
  bad: FakeOptions,
): Promise<RunningService> {
  const [better, worse] = [await startFake(t, good), await startFake(t, bad)]
  return startGateway(t, [
    { name: 'good', url: better.url, settings: 'priority = 1' },
    { name: 'bad', url: worse.url, settings: 'priority = 9' },
  ])
}

test('one listing is the copy of the best source, with the others that have answered', async (t) => {
  const { get } = await open(
    t,
    { items: [row('http://s', { accepted_escrows: [] })], publishers },
    { items: [row('http://s', { accepted_escrows: ['thief'] })], publishers },
  )
  const reply = await get('/listings/x')
  t.like(reply.json(), {
    listing: { accepted_escrows: [], _meta: { registry: 'good' } },
    complete: undefined,
  })
  t.regex(reply.headers.get('cache-control') ?? '', /^public, max-age=\d+$/)
})

test('where a better source failed, the copy of a worse one is incomplete and not cached', async (t) => {
  const { get } = await open(t, DOWN, { items: [row('http://thief')] })
  const reply = await get('/listings/x')
  t.is(reply.status, 200)
  t.like(reply.json(), {
    listing: { storefront_url: 'http://thief', _meta: { registry: 'bad', also_in: [] } },
    complete: false,
    sources: [
      { registry: 'local', state: 'loaded' },
      { registry: 'good', state: 'unavailable', reason: 'http_500' },
      { registry: 'bad', state: 'loaded' },
    ],
  })
  t.is(reply.headers.get('cache-control'), 'no-store')
})

test('a failure of a worse source does not matter to the copy of a better one', async (t) => {
  const { get } = await open(t, { items: [row('http://s')] }, DOWN)
  const reply = await get('/listings/x')
  t.is(reply.json().complete, undefined)
  t.regex(reply.headers.get('cache-control') ?? '', /public/)
})

test('404 only if every source has answered that it has no such listing', async (t) => {
  const none = { items: [] }
  const html = {
    kind: 'status',
    status: 404,
    body: '<html>',
    headers: { 'content-type': 'text/html' },
  } as const
  for (const [good, bad, status] of [
    [none, none, 404],
    [none, DOWN, 502],
    [DOWN, none, 502],
    [none, { listingScript: html }, 502],
    [DOWN, { listingScript: html }, 503],
  ] as const) {
    const { get } = await open(t, good, bad)
    t.is((await get('/listings/x?registry=good')).status, good === none ? 404 : 503)
    // The local Registry has answered.
    const expected = status === 503 ? 502 : status
    t.is((await get('/listings/x')).status, expected)
  }
})

test('an id that is no Unicode is no listing, for agents too', async (t) => {
  const { url } = await open(t, { items: [row('http://s')] }, DOWN)
  const agent = await agentAt(t, url)
  for (const listing_id of ['\ud800', '.', '..']) {
    const { isError, value } = await agent.call('get_listing', { listing_id })
    t.false(isError)
    t.is(value.listing, null)
  }
  const { value } = await agent.call('get_listing', { listing_id: 'x', registry: 'good' })
  t.is(value.listing?.listing_id, 'x')
})
