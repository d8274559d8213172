import test from 'ava'
import fc from 'fast-check'
import { ANONYMOUS } from '../../src/domain/api-key.ts'
import type { MergedItem } from '../../src/domain/merge.ts'
import { renderMerged, renderPage } from '../../src/gateway/envelope.ts'
import { fanOut } from '../../src/gateway/fan-out.ts'
import { createAgent } from '../../src/upstream/agent.ts'
import { envelopeText, listingText, startFakeRegistry } from '../helpers/fake-registry.ts'
import { jsonText } from '../helpers/json-text.ts'
import { liveSource } from '../helpers/live-source.ts'
import { upstreamOptions } from '../upstream/upstream-options.ts'
import { itemOf, listingQuery } from './gateway-parts.ts'

const merged = (fields: Partial<MergedItem> = {}): MergedItem => ({
  item: itemOf(listingText()),
  registry: 'curated',
  alsoIn: [],
  stale: false,
  differs: false,
  conflict: false,
  ...fields,
})

test('a plain page is exactly the three members, rows as they are', (t) => {
  const rows = ['{"a":99.0}', '{ "b" : 1180591620717411303424 }'].map((row) => Buffer.from(row))
  t.is(
    renderPage(rows, 7).toString(),
    '{"items":[{"a":99.0},{ "b" : 1180591620717411303424 }],"count":2,"total_after_filter":7}',
  )
  t.is(renderPage([], 0).toString(), '{"items":[],"count":0,"total_after_filter":0}')
})

test('the envelope holds the five members in order, and `_meta` last in each item', (t) => {
  const item = itemOf('{"listing_id":"a","created_at":"2026-11-20T15:33:44"}')
  const sources = [{ registry: 'curated', state: 'loaded', matched: 1, returned: 1 } as const]
  const answer = { items: [merged({ item, alsoIn: ['open-market'] })], total: 9, complete: true, sources }
  t.is(
    renderMerged(answer).toString(),
    '{"items":[{"listing_id":"a","created_at":"2026-11-20T15:33:44",' +
      '"_meta":{"registry":"curated","also_in":["open-market"],"stale":false}}],' +
      '"count":1,"total_after_filter":9,"complete":true,' +
      '"sources":[{"registry":"curated","state":"loaded","matched":1,"returned":1}]}',
  )
})

test('`_meta` names the publisher where she is known, and differences where there are any', (t) => {
  const item = { ...itemOf(listingText()), publisher: '0xabc' }
  const answer = {
    items: [merged({ item, differs: true, conflict: true })],
    total: 1,
    complete: true,
    sources: [],
  }
  t.deepEqual(JSON.parse(renderMerged(answer).toString()).items[0]._meta, {
    registry: 'curated',
    publisher: '0xabc',
    also_in: [],
    stale: false,
    differs: true,
    conflict: true,
  })
})

const META = ',"_meta":{"registry":"elsewhere","also_in":[],"stale":false}}'

test('for any JSON items, what comes out of the gateway less `_meta` is byte for byte what went in', async (t) => {
  const fake = await startFakeRegistry()
  const options = upstreamOptions({ url: fake.url })
  const agent = createAgent(options)
  t.teardown(async () => {
    await agent.destroy()
    await fake.close()
  })
  const source = { name: 'elsewhere', visibility: 'public', mode: 'live', priority: 1 } as const
  const federation = fanOut([{ ...source, ask: liveSource(options, agent) }], { budgetMs: 60_000 })

  await fc.assert(
    fc.asyncProperty(fc.array(oddListing(), { minLength: 1, maxLength: 5 }), async (bodies) => {
      const texts = bodies.map((body, n) => body.replace('ID', String(n)))
      fake.script = [{ kind: 'body', body: envelopeText(texts, texts.length) }]
      const answer = await federation(listingQuery(), ANONYMOUS, new AbortController().signal)
      const out = renderMerged(answer).toString()
      const expected = texts.map((text) => text.slice(0, text.lastIndexOf('}')) + META).join(',')
      t.true(out.startsWith(`{"items":[${expected}],"count":${texts.length},`), out)
    }),
    { numRuns: 60 },
  )
})

/** A listing that says its id, status and time, and around them whatever JSON allows; no `_meta` of its own. */
const oddListing = (): fc.Arbitrary<string> =>
  fc
    .tuple(jsonText(), jsonText(), jsonText(), fc.constantFrom('', ' ', '\n\t'))
    .map(
      ([one, two, three, space]) =>
        `{${space}"offer_resource":${one}${space},"x":${two},"x" :${three},"listing_id":"ID",` +
        `"status":"open", "created_at":"2026-11-20T15:33:44.792803"${space}}`,
    )
