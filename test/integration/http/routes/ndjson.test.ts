import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import test from 'ava'
import { block } from '../../../helpers/blocks.ts'
import { deadUrl, envelopeText, listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway, startPatientGateway } from '../../../helpers/gateway.ts'
import { startRegistry } from '../../../helpers/registry.ts'
import { ALICE, publish } from '../../../helpers/seller.ts'

const NDJSON = { Accept: 'application/x-ndjson' }

type Line = { listing_id?: string; _meta: { complete?: boolean; sources?: Record<string, unknown>[] } }

function linesOf(text: string): Line[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line))
}

test('NDJSON: the complete sequence, one listing a line, then a report of the sources', async (t) => {
  const a = await startFake(t, { items: listingTexts('a', 900) })
  const b = await startFake(t, {
    items: [...listingTexts('b', 450), ...listingTexts('a', 900).slice(500, 600)],
  })
  const service = await startPatientGateway(t, [
    { name: 'a', url: a.url },
    { name: 'b', url: b.url },
  ])
  await publish(service.url, ALICE, { listing_id: 'own' })
  const reply = await service.get('/listings?limit=5&offset=7', NDJSON)
  t.is(reply.status, 200)
  t.is(reply.headers.get('content-type'), 'application/x-ndjson')
  t.is(reply.headers.get('cache-control'), 'no-cache')
  const lines = linesOf(reply.text)
  const last = lines.pop()
  const ids = lines.map(({ listing_id }) => listing_id)
  t.is(ids.length, 1351)
  t.is(new Set(ids).size, 1351)
  t.true(last?._meta.complete)
  t.deepEqual(
    last?._meta.sources?.map(({ registry, state, returned }) => [registry, state, returned]),
    [
      ['local', 'loaded', 1],
      ['a', 'loaded', 900],
      ['b', 'loaded', 450],
    ],
  )
})

test('NDJSON: a cursor is refused', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 30) })
  const { get } = await startGateway(t, [{ name: 'a', url: fake.url }])
  const { next_cursor } = (await get('/listings?limit=10')).json()
  for (const cursor of [next_cursor, 'made-up']) {
    const { status, json } = await get(`/listings?cursor=${cursor}`, NDJSON)
    t.is(status, 400)
    t.regex(String(json().detail), /^cursor cannot be used with NDJSON/)
  }
})

test('NDJSON: an item of several lines becomes one line, otherwise unchanged', async (t) => {
  const odd = listingText({ listing_id: 'odd', x: 'a\nb' }).replace(
    '"publisher_id":1,',
    '"n": 1.50e+3 ,\r\n\t"publisher_id" :\n 1,',
  )
  const fake = await startFake(t, { script: [{ kind: 'body', body: envelopeText([odd], 1) }] })
  const { get } = await startGateway(t, [{ name: 'a', url: fake.url }])
  const { text } = await get('/listings', NDJSON)
  const [line] = text.split('\n')
  t.true(line!.startsWith(odd.replaceAll(/[\r\n]/g, '').slice(0, -1)), line)
  t.is(JSON.parse(line!).x, 'a\nb')
})

test('NDJSON: a slow reader pauses the stream, so that a block which begins meanwhile holds for its rest', async (t) => {
  const items = listingTexts('a', 4000, { text: 'x'.repeat(8000) })
  const fake = await startFake(t, { items, publishers: [[1, ALICE.address.toLowerCase()]] })
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const service = await startGateway(t, [{ name: 'a', url: fake.url }], { environment })
  const response = await new Promise<IncomingMessage>((resolve) => {
    request(`${service.url}/listings`, { headers: NDJSON }).on('response', resolve).end()
  })
  await once(response, 'readable')
  // Enough for a stream that is not paused to end.
  for (let turn = 0; turn < 2000; turn++) await setImmediate()
  await block(service, { subject: `${ALICE.address.toLowerCase()}/a-3999` })
  const lines = linesOf(await text(response))
  t.is(lines.length, 4000, 'the report included')
  t.is(lines.at(-2)?.listing_id, 'a-3998')
})

test('NDJSON: problems before the first line are those of a page', async (t) => {
  const { get } = await startGateway(t, [{ name: 'dead', url: deadUrl() }])
  t.like((await get('/listings', NDJSON)).json(), {
    status: 503,
    detail: 'Nothing matches here, and no upstream could answer: see sources',
  })
  t.is((await get('/listings?require=all', NDJSON)).status, 502)
  t.is((await get('/listings?sources=unknown', NDJSON)).status, 400)
  t.is((await get('/listings?banana=1', NDJSON)).status, 400)
})

test('Accept: the preferred media type is sent', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 2) })
  const { get } = await startGateway(t, [{ name: 'a', url: fake.url }])
  for (const [accept, type] of [
    ['application/x-ndjson, */*', 'application/x-ndjson'],
    ['application/json;q=0.5, Application/X-NDJSON', 'application/x-ndjson'],
    ['application/json, application/x-ndjson;q=0.5', 'application/json; charset=utf-8'],
    ['application/x-ndjson;q=0', 'application/json; charset=utf-8'],
    ['application/x-ndjson; charset=utf-8', 'application/x-ndjson'],
    ['application/json, application/x-ndjson', 'application/x-ndjson'],
    ['*/*', 'application/json; charset=utf-8'],
    ['application/json;q=0.5, */*', 'application/json; charset=utf-8'],
    [`application/x-ndjson;x="${',""'.repeat(5000)}`, 'application/x-ndjson'],
  ] as const)
    t.is((await get('/listings', { Accept: accept })).headers.get('content-type'), type, accept)
})

test('Accept: a plain Registry answers JSON, and Vary does not name it', async (t) => {
  const { url, get } = await startRegistry(t)
  await publish(url, ALICE, { listing_id: 'own' })
  for (const path of ['/listings', '/listings?sort=price', '/listings/own']) {
    const { status, headers } = await get(path, NDJSON)
    t.deepEqual([status, headers.get('content-type')], [200, 'application/json; charset=utf-8'], path)
    t.notRegex(headers.get('vary') ?? '', /accept(?!-)/i, path)
  }
})

test('NDJSON: an ETag where all sources are in memory, and 304 until one of them changes', async (t) => {
  const items = [listingText({ listing_id: 'one' })]
  const fake = await startFake(t, { items })
  const held = await startGateway(t, [{ name: 'a', url: fake.url }])
  const first = await held.get('/listings', NDJSON)
  const tag = first.headers.get('etag')!
  t.regex(tag, /^W\/"/)
  t.is(first.headers.get('cache-control'), 'no-cache')
  const again = await held.get('/listings', { ...NDJSON, 'If-None-Match': tag })
  t.deepEqual([again.status, again.text], [304, ''])
  await publish(held.url, ALICE, { listing_id: 'two' })
  const changed = await held.get('/listings', { ...NDJSON, 'If-None-Match': tag })
  t.is(changed.status, 200)
  t.true(changed.text.includes('"two"'))
  t.not(changed.headers.get('etag'), tag)
})
