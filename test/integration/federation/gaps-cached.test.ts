import test, { type ExecutionContext } from 'ava'
import type { Behaviour } from '../../helpers/fake-registry.ts'
import { envelopeText, listingText } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import type { RunningService } from '../../helpers/registry.ts'
import type { Answer } from '../../helpers/sequence.ts'

/** Default ages after which a Reading is not fresh, and not served without revalidation. */
const PAST_FRESH_MS = 20_000
const PAST_WAIT_MS = 80_000

const LOADED = { registry: 'a', state: 'loaded' }
const MISSING = { registry: 'b', state: 'unavailable', reason: 'timeout' }

/** A gateway's answer with a long `max-age`, whatever its content. */
const answerWith = (
  ids: readonly string[],
  sources: readonly object[],
  complete = !sources.includes(MISSING),
): Behaviour => ({
  kind: 'body',
  body: envelopeText(
    ids.map((listing_id) => listingText({ listing_id, _meta: { registry: 'a' } })),
    ids.length,
  ).replace(/}$/, `,"complete":${complete},"sources":${JSON.stringify(sources)}}`),
  headers: { 'cache-control': 'public, max-age=1000' },
})

const COMPLETE = answerWith(['one', 'two'], [LOADED, { ...MISSING, state: 'loaded' }])
const PARTIAL = answerWith(['one'], [LOADED, MISSING])

async function startWorld(t: ExecutionContext, script: Behaviour[]) {
  const fake = await startFake(t, { script })
  const clock = manualClock()
  const upstreams = [{ name: 'eu', url: fake.url, settings: `kind = "gateway"` }]
  const options = { clock, random: () => 0.5, more: 'id = "world"\n' }
  return { fake, clock, world: await startPatientGateway(t, upstreams, options) }
}

async function readListings({ get }: RunningService): Promise<unknown[]> {
  const { items, complete, sources } = (await get('/listings')).json() as Answer
  return [items.length, complete, ...sources.slice(1).map(({ registry, state }) => `${registry} ${state}`)]
}

const COMPLETE_ANSWER = [2, true, 'eu loaded']
const INCOMPLETE_ANSWER = [1, false, 'eu loaded', 'eu/b unavailable']

test('gaps: an incomplete answer is not cached, whatever its Cache-Control says', async (t) => {
  const { fake, world } = await startWorld(t, [PARTIAL, PARTIAL, PARTIAL, COMPLETE])
  for (let n = 1; n <= 3; n++) {
    t.deepEqual(await readListings(world), INCOMPLETE_ANSWER)
    t.is(fake.requests.length, n)
  }
  for (let n = 0; n < 3; n++) t.deepEqual(await readListings(world), COMPLETE_ANSWER)
  t.is(fake.requests.length, 4)
})

test('gaps: a complete Reading, then an incomplete answer, then the stale Reading', async (t) => {
  const { fake, clock, world } = await startWorld(t, [COMPLETE, PARTIAL])
  t.deepEqual(await readListings(world), COMPLETE_ANSWER)
  clock.advance(PAST_FRESH_MS)
  t.deepEqual(await readListings(world), COMPLETE_ANSWER, 'the upstream is requested in the background')
  await fake.requested(2)
  t.deepEqual(
    await readListings(world),
    COMPLETE_ANSWER,
    'its incomplete answer has not replaced the Reading',
  )
  clock.advance(PAST_WAIT_MS)
  t.deepEqual(await readListings(world), INCOMPLETE_ANSWER, 'the current answer is served')
  fake.script = [{ kind: 'status', status: 500 }]
  t.deepEqual(await readListings(world), [2, true, 'eu stale'])
})

test('gaps: what an upstream gateway misses through this one is not missing, first or from the cache', async (t) => {
  const throughUs = answerWith(['one', 'two'], [LOADED, { ...MISSING, via: ['world'] }], false)
  const { fake, world } = await startWorld(t, [throughUs])
  for (let n = 0; n < 3; n++) t.deepEqual(await readListings(world), COMPLETE_ANSWER)
  t.is(fake.requests.length, 1)
})
