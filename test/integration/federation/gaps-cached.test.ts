import test, { type ExecutionContext } from 'ava'
import type { Behaviour } from '../../helpers/fake-registry.ts'
import { envelopeText, listingText } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import type { RunningService } from '../../helpers/registry.ts'
import type { Answer } from '../../helpers/sequence.ts'

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

test('gaps: what an upstream gateway misses through this one is not missing, first or from the cache', async (t) => {
  const throughUs = answerWith(['one', 'two'], [LOADED, { ...MISSING, via: ['world'] }], false)
  const { fake, world } = await startWorld(t, [throughUs])
  for (let n = 0; n < 3; n++) t.deepEqual(await readListings(world), COMPLETE_ANSWER)
  t.is(fake.requests.length, 1)
})
