import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import { listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway, type UpstreamEntry } from '../../helpers/gateway.ts'
import { jsonText } from '../../helpers/json-text.ts'
import { runs } from '../../helpers/runs.ts'
import { type Answer, idsOf } from '../../helpers/sequence.ts'

/** A gateway without a Registry of its own. */
const open = (t: ExecutionContext, upstream: UpstreamEntry, id = 'inner') =>
  startPatientGateway(t, [upstream], { more: `id = "${id}"\n[registry]\nenabled = false\n` })

/** A listing with its id, status and time, and around them whatever JSON allows: as it is, and without white space. */
const oddListing = fc
  .tuple(jsonText(), jsonText(), jsonText(), fc.constantFrom('', ' ', '\n\t'))
  .map(([one, two, three, space]) =>
    [space, ''].map(
      (between) =>
        `{${between}"offer_resource":${one}${between},"x":${two},${between}"x":${three},"listing_id":"ID",` +
        `"status":"open",${between}"created_at":"2026-11-20T15:33:44.792803"${between}}`,
    ),
  )

test('a listing passes a gateway byte for byte, a second one except for white space', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(oddListing, { minLength: 50, maxLength: 50 }), async (odd) => {
      const [items = [], compact = []] = [0, 1].map((form) =>
        odd.map((one, n) => one[form]!.replace('"ID"', `"${String(n).padStart(3, '0')}"`)),
      )
      const inner = await open(t, { name: 'up', url: (await startFake(t, { items })).url })
      const outer = await open(t, { name: 'eu', url: inner.url, settings: 'kind = "gateway"' }, 'outer')
      for (const [service, registry, listings] of [
        [inner, 'up', items],
        [outer, 'eu/up', compact],
      ] as const) {
        const { text } = await service.get('/listings')
        const meta = `,"_meta":{"registry":"${registry}","also_in":[],"stale":false}}`
        const expected = listings.map((item) => item.slice(0, item.lastIndexOf('}')) + meta)
        t.is(text.slice(0, text.indexOf('],"count"')), `{"items":[${expected.join(',')}`)
      }
    }),
    { numRuns: runs(10) },
  )
})

test('listings too long or nested too deep are left out and counted, in pages and streams', async (t) => {
  const long = listingText({ listing_id: 'long', demands: ['x'.repeat(70_000)] })
  const deep = listingText({ listing_id: 'deep' }).replace('[]', '['.repeat(40) + ']'.repeat(40))
  const fake = await startFake(t, { items: [long, deep, ...listingTexts('a', 2)] })
  const { get } = await open(t, { name: 'up', url: fake.url })
  const page = (await get('/listings?gpu_model=H100')).json() as Answer
  t.deepEqual(idsOf(page), ['a-0000', 'a-0001'])
  t.like(page, { total_after_filter: 2, sources: [{ invalid: 2 }] })
  const lines = (await get('/listings', { Accept: 'application/x-ndjson' })).text.trim().split('\n')
  t.is(lines.length, 3)
  t.like(JSON.parse(lines.at(-1)!)._meta, { sources: [{ invalid: 2 }] })
})
