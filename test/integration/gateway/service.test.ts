import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import {
  type FakeOptions,
  type FakeRegistry,
  listingText,
  listingTexts,
} from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { jsonText } from '../../helpers/json-text.ts'
import type { RunningService } from '../../helpers/registry.ts'
import { runs } from '../../helpers/runs.ts'
import { type Answer, idsOf } from '../../helpers/sequence.ts'

type Opened = RunningService & { fake: FakeRegistry; read: (path: string) => Promise<Answer> }

/** No Registry of its own. */
const PURE = '[registry]\nenabled = false\n'
const NDJSON = { Accept: 'application/x-ndjson' }

/** A gateway over one upstream, without a Registry of its own. */
async function open(
  t: ExecutionContext,
  fakeOptions: FakeOptions,
  { settings = '', more = '' } = {},
): Promise<Opened> {
  const fake = await startFake(t, fakeOptions)
  const kind = fakeOptions.kind === undefined ? '' : `kind = "${fakeOptions.kind}"\n`
  const service = await startPatientGateway(t, [{ name: 'up', url: fake.url, settings: kind + settings }], {
    more: more + PURE,
  })
  const read = async (path: string) => (await service.get(path)).json() as Answer
  return { ...service, fake, read }
}

/** Another gateway, before the one at `url`. */
function openOuter(
  t: ExecutionContext,
  url: string,
  { settings = '', more = '' } = {},
): Promise<RunningService> {
  const upstream = { name: 'eu', url, settings: `kind = "gateway"\n${settings}` }
  return startPatientGateway(t, [upstream], { more: `id = "outer"\n${more}${PURE}` })
}

async function linesOf({ get }: RunningService, path = '/listings'): Promise<Record<string, unknown>[]> {
  const { text } = await get(path, NDJSON)
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

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
      const { url, get } = await open(t, { items })
      const outer = await openOuter(t, url)
      for (const [service, registry, listings] of [
        [{ get }, 'up', items],
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
  const service = await open(t, { items: [long, deep, ...listingTexts('a', 2)] })
  const page = await service.read('/listings')
  t.deepEqual(idsOf(page), ['a-0000', 'a-0001'])
  t.is(page.sources[0]?.invalid, 2)
  const lines = await linesOf(service)
  t.is(lines.length, 3)
  t.like(lines.at(-1)?._meta, { sources: [{ invalid: 2 }] })
  const filtered = await service.read('/listings?gpu_model=H100')
  t.like(filtered, { total_after_filter: 2, sources: [{ invalid: 2 }] })
})
