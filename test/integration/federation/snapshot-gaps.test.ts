import type { ExecutionContext } from 'ava'
import test from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { type Behaviour, listingTexts } from '../../helpers/fake-registry.ts'
import { freePorts } from '../../helpers/free-port.ts'
import { startFake, startPatientGateway, type UpstreamEntry } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import type { RunningService } from '../../helpers/registry.ts'
import { remainsToTheByte } from '../../helpers/restart.ts'
import { temporaryStore } from '../../helpers/run-cli.ts'
import { ALICE, publish } from '../../helpers/seller.ts'
import type { Answer } from '../../helpers/sequence.ts'

const REFRESH_MS = 60_000
/** After the period with any jitter. */
const PAST_REFRESH_MS = 1.1 * REFRESH_MS
const SNAPSHOT = 'kind = "gateway"\nrefresh_seconds = 60'
/** It shows only listings that it can have now. */
const FORGETFUL = '[cache]\nfresh_seconds = 0\n'

const GONE = { kind: 'status', status: 500 } as const
/** After it nothing of an upstream is shown. */
const REFUSED = { kind: 'status', status: 401 } as const
const WELL = { kind: 'serve' } as const
/** An upstream that refused our key is asked again. */
const PAST_REFUSAL_MS = 61_000

/** A gateway that pulls another one over `open` and `curated`, with a clock of the test. */
async function startWorld(t: ExecutionContext, { isGone = false } = {}) {
  const open = await startFake(t, { items: listingTexts('open', 3) })
  const curated = await startFake(t, {
    items: listingTexts('curated', 3),
    script: isGone ? [REFUSED] : [WELL],
  })
  const euClock = manualClock()
  const eu = await startPatientGateway(
    t,
    [
      { name: 'open', url: open.url },
      { name: 'curated', url: curated.url },
    ],
    { clock: euClock, more: `id = "eu"\n[registry]\nenabled = false\n${FORGETFUL}` },
  )
  const clock = manualClock()
  const world = await startPatientGateway(t, [{ name: 'eu', url: eu.url, settings: SNAPSHOT }], {
    clock,
    more: 'id = "world"\n',
    environment: { METRICS_PUBLIC: 'true' },
  })
  const readListings = async (path = '/listings'): Promise<Answer> => (await world.get(path)).json() as Answer
  /** The first answer for which the condition holds, while the time of eu goes on, and here by so many ms. */
  const until = (holds: (answer: Answer) => boolean, passes = 0): Promise<Answer> =>
    eventually(
      'such an answer',
      async () => {
        euClock.advance(100)
        clock.advance(passes)
        return (await world.get('/listings')).json() as Answer
      },
      (answer) => 'items' in answer && answer.sources[1]?.state === 'loaded' && holds(answer),
    )
  /** After this the next pull finds what the Registries have now. */
  const euAsks = (isComplete: boolean): Promise<unknown> =>
    eventually(
      'what is new at eu',
      async () => {
        euClock.advance(PAST_REFUSAL_MS)
        return (await eu.get('/listings', { 'Cache-Control': 'no-cache' })).json() as Answer
      },
      ({ complete }) => complete === isComplete,
    )
  return { open, curated, world, clock, readListings, until, euAsks }
}

const shown = ({ items }: Answer): string[] =>
  items
    .map(({ listing_id, _meta }) => `${listing_id} of ${_meta.registry}${_meta.stale ? ', old' : ''}`)
    .sort()

test('snapshot gaps: listings of a missing Registry stay, stale and reported', async (t) => {
  const { open, curated, world, clock, until, euAsks } = await startWorld(t)
  t.true((await until(({ items }) => items.length === 6)).complete)

  curated.script = [REFUSED]
  open.items = [...listingTexts('new', 1), ...open.items.slice(1)]
  await euAsks(false)
  clock.advance(PAST_REFRESH_MS)
  const answer = await until(({ complete }) => !complete)
  t.deepEqual(shown(answer), [
    'curated-0000 of eu/curated, old',
    'curated-0001 of eu/curated, old',
    'curated-0002 of eu/curated, old',
    'new-0000 of eu/open',
    'open-0001 of eu/open',
    'open-0002 of eu/open',
  ])
  const gap = { registry: 'eu/curated', state: 'unavailable', reason: 'unauthorized' }
  t.deepEqual(answer.sources[2], {
    ...gap,
    matched: null,
    returned: 0,
    age_seconds: PAST_REFRESH_MS / 1000,
    via: ['eu'],
  })
  t.is((await world.get('/listings?require=all')).status, 502)
  const reply = await world.get('/listings')
  t.is(reply.headers.get('cache-control'), 'no-store')
  t.false((await world.get('/listings')).json().complete, 'an answer that is given again says so, too')
  t.like(((await world.get('/sources')).json() as Answer).sources[1], {
    state: 'loaded',
    gaps: [{ ...gap, age_seconds: PAST_REFRESH_MS / 1000 }],
  })
  t.regex((await world.get('/metrics')).text, /^entrepot_source_gaps\{registry="eu"\} 1$/m)

  clock.advance(PAST_REFRESH_MS)
  const later = await until(({ sources }) => Number(sources[2]?.age_seconds) > PAST_REFRESH_MS / 1000)
  t.is(
    later.sources[2]?.age_seconds,
    (2 * PAST_REFRESH_MS) / 1000,
    'its age counts from when it was heard of last',
  )

  curated.script = [WELL]
  curated.items = curated.items.slice(1)
  await euAsks(true)
  clock.advance(PAST_REFRESH_MS)
  const whole = await until(({ complete }) => complete, 100)
  t.deepEqual(shown(whole), [
    'curated-0001 of eu/curated',
    'curated-0002 of eu/curated',
    'new-0000 of eu/open',
    'open-0001 of eu/open',
    'open-0002 of eu/open',
  ])
  t.regex((await world.get('/metrics')).text, /^entrepot_source_gaps\{registry="eu"\} 0$/m)
})

/** Two gateways that pull each other; the first has a Registry upstream. */
async function startPair(t: ExecutionContext, script: Behaviour[]) {
  const flaky = await startFake(t, { items: listingTexts('flaky', 2), script })
  const [one = 0, other = 0] = await freePorts(2)
  const clock = manualClock()
  const start = (
    id: string,
    port: number,
    peer: { name: string; port: number },
    more: readonly UpstreamEntry[],
  ) => {
    const upstreams = [{ name: peer.name, url: `http://127.0.0.1:${peer.port}`, settings: SNAPSHOT }, ...more]
    return startPatientGateway(t, upstreams, {
      clock,
      environment: { PORT: String(port) },
      more: `id = "${id}"\n${FORGETFUL}`,
      isLoaded: false,
    })
  }
  const east = await start('east', one, { name: 'west', port: other }, [{ name: 'flaky', url: flaky.url }])
  const west = await start('west', other, { name: 'east', port: one }, [])
  await publish(east.url, ALICE, { listing_id: 'of east' })
  await publish(west.url, ALICE, { listing_id: 'of west' })
  return { flaky, clock, east, west }
}

test('snapshot gaps: gateways that pull each other drop resolved gaps', async (t) => {
  const { flaky, clock, east, west } = await startPair(t, [GONE])
  /** Pulls continue until all of these are true. */
  const until = async (...conditions: [RunningService, (missing: string[]) => boolean][]): Promise<void> => {
    let looks = 0
    const look = () => {
      if (++looks % 5 === 0) clock.advance(PAST_REFRESH_MS)
      return Promise.all(
        conditions.map(async ([{ get }, holds]) => {
          const { complete, sources } = (await get('/listings')).json() as Answer
          const missing = sources.flatMap(({ registry, state }) =>
            state === 'loaded' ? [] : [String(registry)],
          )
          return { missing, holds: complete === (missing.length === 0) && holds(missing) }
        }),
      )
    }
    await eventually('gone', look, (answers) => answers.every(({ holds }) => holds))
  }
  const misses =
    (...names: string[]) =>
    (missing: string[]): boolean =>
      missing.join() === names.join()
  await until([east, misses('flaky')], [west, misses('east/flaky')])
  for (let n = 0; n < 3; n++) {
    clock.advance(PAST_REFRESH_MS)
    await until([east, misses('flaky')], [west, misses('east/flaky')])
  }
  flaky.script = [WELL]
  await until([east, misses()], [west, misses()])
  t.pass('both are complete again')
})

test("snapshot restart: a dead upstream's listings remain to the byte", async (t) => {
  await remainsToTheByte(t, temporaryStore(t))
})

test('snapshot gaps: a stream of changes says that a Registry is missed, and that it is missed no more', async (t) => {
  const { curated, world, clock, until, euAsks } = await startWorld(t, { isGone: true })
  await until(({ complete }) => !complete, REFRESH_MS)
  const stream = await fetch(`${world.url}/changes`, { headers: { Accept: 'text/event-stream' } })
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.teardown(() => reader.cancel())
  let events = ''
  const collect = async (): Promise<void> => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) events += read.value
  }
  void collect()
  const reported = (state: string) =>
    eventually(state, () => {
      clock.advance(1000)
      return events.includes(`"registry":"eu/curated","state":"${state}"`)
    })
  await reported('unavailable')
  curated.script = [WELL]
  await euAsks(true)
  await until(({ complete }) => complete, REFRESH_MS)
  await reported('loaded')
  t.pass()
})
