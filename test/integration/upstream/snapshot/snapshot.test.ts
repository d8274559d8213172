import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import test, { type ExecutionContext } from 'ava'
import type { ListingQuery } from '../../../../src/domain/query.ts'
import type { SavedSnapshot, SnapshotStorage } from '../../../../src/domain/source/saved-snapshot.ts'
import { SourceError } from '../../../../src/domain/source/source-error.ts'
import { CopyIndex } from '../../../../src/listing-index/copy-index.ts'
import { MAX_SEARCH_MS } from '../../../../src/upstream/publisher-directory.ts'
import { PULL_AGAIN_SECONDS } from '../../../../src/upstream/snapshot/next-pull.ts'
import type { PullerOptions } from '../../../../src/upstream/snapshot/puller.ts'
import { SAVE_EVERY_MS } from '../../../../src/upstream/snapshot/saved-pulls.ts'
import { collectGarbage } from '../../../helpers/collect-garbage.ts'
import { eventually } from '../../../helpers/eventually.ts'
import {
  type Behaviour,
  envelopeText,
  type FakeOptions,
  type FakeRegistry,
  idOf,
  listingText,
  listingTexts,
} from '../../../helpers/fake-registry.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { filterOf, specBody } from '../../../helpers/specs.ts'
import {
  failureOf,
  filtered,
  idsOf,
  listingQuery,
  openUpstream,
  PAST_FRESH,
  type TestUpstream,
  type TestUpstreamOptions,
  textsOf,
} from '../../../helpers/upstream.ts'

const REFRESH = 60
const MODEL = filterOf('gpu_model')
const REGION = filterOf('region')
const DOWN: Behaviour[] = [{ kind: 'status', status: 404 }]
const SERVE: Behaviour[] = [{ kind: 'serve' }]

type Subject = TestUpstream & {
  /** Advances the clock, and waits for the pull that is due then. */
  pass: (seconds: number) => Promise<void>
}

async function open(
  t: ExecutionContext,
  fakeOptions: FakeOptions = {},
  { snapshots, ...options }: TestUpstreamOptions = {},
): Promise<Subject> {
  const upstream = await openUpstream(t, fakeOptions, {
    refreshSeconds: REFRESH,
    snapshots: { filters: () => [MODEL], ...snapshots },
    ...options,
  })
  const { clock, state } = upstream
  const hasPulled = () =>
    (state.snapshot.current?.takenAt === clock.now() && state.snapshot.current.isLoading !== true) ||
    state.snapshot.lastError?.at === clock.now()
  const pass = async (seconds: number) => {
    clock.advance(seconds * 1000)
    await eventually('pulled', hasPulled)
    await setImmediate()
  }
  return Object.assign(upstream, { pass })
}

async function openPulled(...parameters: Parameters<typeof open>): Promise<Subject> {
  const subject = await open(...parameters)
  await subject.pass(0)
  return subject
}

test('a pull that ends after the runtime has closed leaves no rows', async (t) => {
  let onLoad = () => {}
  class WatchedIndex extends CopyIndex {
    override load(...parameters: Parameters<CopyIndex['load']>) {
      onLoad()
      return super.load(...parameters)
    }
  }
  const index = new WatchedIndex([MODEL])
  const subject = await openPulled(t, { items: listingTexts('a', 1200) }, { snapshots: { index } })
  const { fake, state } = subject
  const { source } = state.snapshot.current!.snapshot
  fake.items = listingTexts('b', 1200)
  const closing = Promise.withResolvers<void>()
  onLoad = () => closing.resolve(subject.close())
  await subject.read()
  subject.clock.advance(REFRESH * 1000)
  await closing.promise
  const sources = () => Array.from({ length: 4 }, (_, n) => n).filter((n) => index.about(n) !== undefined)
  await eventually('only the rows from before are left', () => sources().join() === String(source))
  t.deepEqual(sources(), [source])
})

test('the open listings are answered from memory, to the byte', async (t) => {
  const items = listingTexts('a', 300)
  const { read, status, fake, clock } = await openPulled(t, {
    items: [...items, '{"status":"open"}'],
  })
  const pulled = fake.requests.length
  const reading = await read()
  t.deepEqual(textsOf(reading), items)
  t.like(reading, { total: 300, stale: false, asOf: clock.now(), invalid: 1 })
  t.is(fake.requests.length, pulled)
  t.like(status(), { state: 'loaded', listings: 300, ageSeconds: 0 })
})

test('the memory of a snapshot is reported whenever it changes', async (t) => {
  const sizes: number[] = []
  const snapshots = { onResize: (bytes: number) => void sizes.push(bytes) }
  const { pass, fake } = await openPulled(t, { items: listingTexts('a', 100) }, { snapshots })
  fake.items = fake.items.slice(0, 10)
  await pass(REFRESH)
  const [all, few] = [Math.max(...sizes), sizes.at(-1)!]
  t.true(all > 100 * 400 && few < all / 5, sizes.join(', '))
})

test('what decides whether an answer is current holds no query', async (t) => {
  const { source } = await openPulled(t, { items: listingTexts('a', 3) })
  const ask = async () => {
    const query = listingQuery()
    const { isCurrent } = source.answer(query)
    return { isCurrent, query: new WeakRef(query) }
  }
  const { isCurrent, query } = await ask()
  await setImmediate()
  collectGarbage()
  t.is(query.deref(), undefined)
  t.true(isCurrent())
})

test('a snapshot is indexed by further filters from the next pull on', async (t) => {
  let filters = [MODEL]
  const items = listingTexts('a', 250, { offer_resource: { region: 'eu' } })
  const { read, pass } = await openPulled(t, { items }, { snapshots: { filters: () => filters } })
  filters = [MODEL, REGION]
  await read()
  await pass(REFRESH)
  t.is((await read(filtered([REGION], ['region', 'eu']))).total, 250)
})

for (const count of [50, 1500])
  test(`a pull shows at once what was published, changed and deleted (${count} listings)`, async (t) => {
    const before = listingTexts('a', count)
    const { read, pass, fake } = await openPulled(t, { items: before })
    const old = await read()
    const [kept] = old.listings.slice(-1)
    fake.items = [
      listingText({ listing_id: 'new', created_at: '2027-01-01T00:00:00' }),
      ...before.slice(1, -1).map((text) => text.replace('H100', 'A100')),
      before.at(-1)!,
    ]
    await pass(REFRESH)
    t.deepEqual(textsOf(await read()), fake.items)
    t.deepEqual(textsOf(old), before, 'a Reading does not change')
    t.false(old.isCurrent?.())
    if (count === 50)
      t.is((await read()).listings.at(-1)!.bytes.buffer, kept!.bytes.buffer, 'what has not changed stays')
  })

test('pulls that fail again and again are one line in the log, and the next one is served', async (t) => {
  const { read, pass, fake, clock, logged } = await openPulled(t, { items: listingTexts('a', 3) })
  fake.script = DOWN
  for (const seconds of [REFRESH, PULL_AGAIN_SECONDS, PULL_AGAIN_SECONDS]) await pass(seconds)
  t.deepEqual(
    logged.filter((line) => line.includes('snapshot')),
    ['warn elsewhere http_404 snapshot pull failed'],
  )
  fake.script = SERVE
  fake.items = listingTexts('a', 4)
  await pass(PULL_AGAIN_SECONDS)
  t.like(await read(), { total: 4, stale: false, asOf: clock.now() })
})

test('setting the clock back or forward leaves a snapshot its age', async (t) => {
  const { read, clock } = await openPulled(t, { items: listingTexts('a', 3) })
  const { asOf } = await read()
  for (const ms of [-3_600_000, 7_200_000]) {
    clock.set(ms)
    t.like(await read(), { total: 3, stale: false, asOf })
  }
})

test('periods vary by a tenth', async (t) => {
  for (const [random, seconds] of [
    [0, 0.9 * REFRESH],
    [1, 1.1 * REFRESH],
  ] as const) {
    const { read, pass, fake, clock } = await openPulled(t, {}, { parts: { random: () => random } })
    fake.items = listingTexts('a', 1)
    clock.advance((seconds - 1) * 1000)
    await setImmediate()
    t.is((await read()).total, 0)
    await pass(1)
    t.is((await read()).total, 1)
  }
})

test('periods: of many sources that start together, one is asked earlier by its share once, and then each period', async (t) => {
  const { read, pass, fake, clock } = await openPulled(t, {}, { parts: { head: 0.75 } })
  for (const [n, seconds] of [REFRESH / 4, REFRESH, REFRESH].entries()) {
    fake.items = listingTexts('a', n + 1)
    clock.advance((seconds - 1) * 1000)
    await setImmediate()
    t.is((await read()).total, n)
    await pass(1)
    t.is((await read()).total, n + 1)
  }
})

const LARGE = listingTexts('a', 30, { demands: ['x'.repeat(10_000)] })

for (const [kind, what, items, limits] of [
  ['registry', 'more than max_listings', listingTexts('a', 300), { maxListings: 260 }],
  ['gateway', 'more than max_listings', listingTexts('a', 300), { maxListings: 250 }],
  ['registry', 'more bytes than its share', LARGE, {}],
  ['gateway', 'more bytes than its share', LARGE, {}],
] as const)
  test(`a ${kind} with ${what} is held in part, the newest, and whole again once it is smaller`, async (t) => {
    const snapshots = { maxBytes: () => 250_000 }
    const { read, pass, fake, isReady, status, logged } = await openPulled(
      t,
      { items, kind },
      { snapshots, ...limits },
    )
    t.true(isReady())
    const of = items.length
    const { listings, part, reason } = await read()
    const held = 'maxListings' in limits ? limits.maxListings : 22
    t.deepEqual(textsOf({ listings }), items.slice(0, held))
    t.deepEqual([part, reason], [{ state: 'partial', held, of }, 'too_large'])
    t.like(status(), { state: 'partial', part, listings: held, lastError: null })
    await pass(REFRESH)
    fake.items = listingTexts('a', 2)
    await pass(REFRESH)
    t.like(await read(), { total: 2, part: undefined, reason: undefined })
    t.deepEqual(logged, [
      'info elsewhere upstream is held in memory',
      'warn elsewhere too_large upstream is held in part',
      'info elsewhere upstream is held whole again',
    ])
  })

test('held in part: newer listings push out the oldest, and a restart knows the part', async (t) => {
  const storage = memoryStorage()
  const options = { maxListings: 3, fullRefreshSeconds: 1000, snapshots: { storage } }
  const items = listingTexts('a', 250)
  const subject = await openPulled(t, { items, hasCounts: true }, options)
  const { read, fake, clock } = subject
  fake.items = [listingText({ listing_id: 'new', created_at: '2027-01-01T00:00:00' }), ...items]
  clock.advance(REFRESH * 1000)
  await eventually('pushed out', async () => idsOf(await read())[0] === 'new')
  const heldOf = async ({ read }: Pick<Subject, 'read'>) => {
    const { listings, part } = await read()
    return [idsOf({ listings }), part]
  }
  const expected = [['new', 'a-0000', 'a-0001'], { state: 'partial', held: 3, of: 251 }]
  t.deepEqual(await heldOf(subject), expected as never)
  await subject.close()
  const restarted = await open(t, { script: DOWN }, { maxListings: 3, snapshots: { storage } })
  t.deepEqual(await heldOf(restarted), expected as never)
})

test('held in part: how many there are is counted also where the first page had to be divided', async (t) => {
  const { read, fake, pass } = await open(t, { items: listingTexts('a', 40) }, { maxListings: 3 })
  fake.failing = new Set(['a-0001'])
  await pass(0)
  t.like(await read(), { part: { state: 'partial', held: 3, of: 40 } })
})

test('loading: what has arrived is served, until the first pull has ended', async (t) => {
  const until = Promise.withResolvers<void>()
  const script: Behaviour[] = [
    { kind: 'serve' },
    { kind: 'serve' },
    { kind: 'hold', until: until.promise },
    { kind: 'serve' },
  ]
  const { read, status, source, isReady, clock } = await open(t, {
    items: listingTexts('a', 450),
    script,
  })
  await eventually('two pages', () => status().listings === 390)
  t.false(isReady())
  t.is(source.coverage(), 'loading')
  const part = { state: 'loading', held: 390, of: 450 } as const
  t.like(await read(), { total: 390, stale: false, part })
  t.like(status(), { state: 'loading', part })
  clock.advance(20_000)
  t.true(isReady(), 'after 20 s')
  until.resolve()
  await eventually('whole', () => status().state === 'loaded')
  t.like(await read(), { total: 450, part: undefined })
})

test('loading: where the first pull fails, what has arrived stays, with the reason', async (t) => {
  const script: Behaviour[] = [{ kind: 'serve' }, { kind: 'status', status: 404 }]
  const { read, ready, status } = await open(t, { items: listingTexts('a', 450), script })
  await ready
  t.like(await read(), { total: 200, reason: 'http_404', part: { state: 'loading', held: 200, of: 450 } })
  t.like(status(), { state: 'loading', lastError: { reason: 'http_404' } })
})

test('loading: a first page is served while the pull waits for its turn', async (t) => {
  const inTurn: PullerOptions['inTurn'] = (work, turn) =>
    turn === 'first page' ? work() : new Promise<never>(() => {})
  const snapshots = { inTurn }
  const { source, status } = await open(t, { items: listingTexts('a', 450) }, { snapshots })
  await source.prepare(undefined, new AbortController().signal)
  t.like(status(), { state: 'loading', part: { held: 200, of: 450 } })
})

test('loading: a first pull that failed is tried again after the refresh period, however long it took', async (t) => {
  const clock = manualClock()
  const script: Behaviour[] = [{ kind: 'serve' }, { kind: 'status', status: 404 }, { kind: 'serve' }]
  const beforePage = (request: number) => void (request === 2 && clock.advance(100_000))
  const { ready, status } = await open(
    t,
    { items: listingTexts('a', 450), script, beforePage },
    { clock, refreshSeconds: 15 },
  )
  await ready
  t.is(status().state, 'loading')
  clock.advance(15_000)
  await eventually('loaded', () => status().state === 'loaded')
})

test('only open listings are listed; one that is not held is looked up, and kept while it is fresh', async (t) => {
  const closed = listingText({ listing_id: 'closed', status: 'closed' })
  const { read, fake } = await openPulled(t, { items: [...listingTexts('a', 2), closed] })
  const before = fake.requests.length
  t.deepEqual(idsOf(await read({ listingId: 'a-0001', status: null })), ['a-0001'])
  const all = await read({ status: null })
  t.deepEqual(idsOf(all), ['a-0000', 'a-0001'])
  t.deepEqual(all.missing, [{ registry: 'closed', state: 'skipped', reason: 'open_only' }])
  for (const status of ['closed', 'expired'] as const) {
    t.is((await failureOf(t, read({ status }))).reason, 'open_only')
  }
  t.is(fake.requests.length, before)
  for (let n = 0; n < 2; n++)
    t.deepEqual(idsOf(await read({ listingId: 'closed', status: null })), ['closed'])
  t.is(fake.requests.length, before + 1)
})

test("a publisher's listings are incomplete while a publisher is unknown", async (t) => {
  const items = [1, 2].map((id) => listingText({ listing_id: `by-${id}`, publisher_id: id }))
  const publishers = [1, 2].map((id) => [id, `0x${`${id}`.repeat(40)}`] as const)
  const { read, fake, pass } = await openPulled(t, { items, publishers })
  const query = { publisher: publishers[1]![1] }
  t.like(await read(query), { total: 1, missing: undefined })
  t.is((await read({ publisher: `0x${'c'.repeat(40)}` })).total, 0)
  fake.items = [...items, listingText({ listing_id: 'by-3', publisher_id: 3 })]
  await pass(REFRESH)
  t.like(await read(query), { total: 1, missing: [{ registry: 'publishers', reason: 'publishers_unknown' }] })
})

test('a pull waits for its publishers until their search has ended', async (t) => {
  const address = `0x${'1'.repeat(40)}`
  for (const waitedMs of [MAX_SEARCH_MS - 1, MAX_SEARCH_MS]) {
    const held = Promise.withResolvers<void>()
    const { read, clock, ready, fake } = await open(t, {
      items: listingTexts('a', 3),
      publishers: [[1, address]],
      publisherScript: { kind: 'hold', until: held.promise },
    })
    await eventually('asked for publishers', () => fake.publisherRequests.length === 1)
    clock.advance(waitedMs)
    const isInTime = waitedMs < MAX_SEARCH_MS
    if (isInTime) held.resolve()
    await ready
    const { listings, isAttributed } = await read()
    t.deepEqual(new Set(listings.map(({ publisher }) => publisher)), new Set([isInTime ? address : null]))
    t.is(isAttributed, isInTime)
    held.resolve()
  }
})

test('an upstream of another schema is neither pulled nor shown', async (t) => {
  const filterSpec = specBody('one', [], 'tokens.api')
  const fakeOptions = { items: listingTexts('a', 1), filterSpec }
  const { read, fake } = await openPulled(t, fakeOptions, { parts: { schema: 'vms.compute' } })
  t.is((await failureOf(t, read())).reason, 'schema_mismatch')
  t.is(fake.requests.length, 0)
})

test('a refresh pulls at once, and once more where a pull is running', async (t) => {
  const { read, refresh, fake, ready } = await open(t)
  const held = Promise.withResolvers<void>()
  fake.script = [{ kind: 'hold', until: held.promise }, { kind: 'serve' }]
  await fake.requested()
  fake.items = listingTexts('a', 1)
  refresh()
  refresh()
  held.resolve()
  await ready
  fake.items = listingTexts('a', 2)
  await eventually(
    'pulled again',
    async () => (await read()).total,
    (total) => total === 2,
  )
  t.is(fake.requests.length, 2)
})

test('close ends a pull that runs, which holds nothing more, and no other begins', async (t) => {
  const closed = Promise.withResolvers<void>()
  let onPulled = () => {}
  const filters = () => {
    onPulled()
    return [MODEL]
  }
  const { clock, close, refresh, state } = await openPulled(t, {}, { snapshots: { filters } })
  const { takenAt } = state.snapshot.current!
  onPulled = () => closed.resolve(close())
  clock.advance(1)
  refresh()
  await closed.promise
  t.is(state.snapshot.current?.takenAt, takenAt)
  const { made } = state.stats.calls
  refresh()
  await setImmediate()
  t.is(state.stats.calls.made, made)
})

/** Storage in memory. */
function memoryStorage(): SnapshotStorage & { saves: SavedSnapshot[] } {
  const saves: SavedSnapshot[] = []
  return {
    saves,
    load: async () => saves.at(-1) ?? null,
    save: async (snapshot) => void saves.push({ ...snapshot, listings: new Map(snapshot.listings) }),
  }
}

test('a snapshot is saved once in a while, and at the end', async (t) => {
  const storage = memoryStorage()
  const { pass, fake, close } = await openPulled(t, {}, { refreshSeconds: 10, snapshots: { storage } })
  t.is(storage.saves.length, 1)
  for (let passed = 10; passed < SAVE_EVERY_MS / 1000; passed += 10) await pass(10)
  t.is(storage.saves.length, 1)
  await pass(10)
  t.is(storage.saves.length, 2)
  fake.items = listingTexts('a', 2)
  await pass(10)
  await close()
  t.is(storage.saves.at(-1)?.listings.size, 2)
})

test('storage that fails costs two lines in the log', async (t) => {
  const storage: SnapshotStorage = {
    load: () => Promise.reject(new Error('no')),
    save: () => Promise.reject(new Error('no')),
  }
  const { read, logged } = await openPulled(t, { items: listingTexts('a', 3) }, { snapshots: { storage } })
  t.is((await read()).total, 3)
  t.deepEqual(logged, [
    'warn no saved snapshot unreadable',
    'info elsewhere upstream is held in memory',
    'warn no saving the snapshot failed',
  ])
})

/** A listing that a gateway has of a Registry. */
function behind(listing_id: string, registry: string, also_in: string[] = []): string {
  return listingText({ listing_id, _meta: { registry, also_in, stale: false } })
}

function report(fake: FakeRegistry, ...registries: string[]): void {
  const sources = registries.map((registry) => ({ registry, state: 'unavailable', reason: 'timeout' }))
  fake.envelope = registries.length === 0 ? {} : { complete: false, sources }
}

/** `id (old)` where it is held over from an earlier pull. */
async function heldBy({ read }: Pick<Subject, 'read'>): Promise<string[]> {
  const { listings } = await read()
  return listings.map(({ listingId, origin }) => (origin?.stale ? `${listingId} (old)` : listingId))
}

test('a gateway is pulled as one stream behind its first page', async (t) => {
  const { fake, status } = await openPulled(t, { items: listingTexts('a', 3000), kind: 'gateway' })
  t.deepEqual(
    fake.requests.map(({ headers }) => headers.accept),
    ['application/json', 'application/x-ndjson'],
  )
  t.is(status().listings, 3000)
})

test.serial('a stream may take ten minutes while its bytes arrive, and no longer', async (t) => {
  const { now } = performance
  t.teardown(() => {
    performance.now = now
  })
  for (const [minutes, held] of [
    [9, 250],
    [11, 200],
  ] as const) {
    const beforePage = (request: number) => {
      if (request === 2) performance.now = () => now.call(performance) + minutes * 60_000
    }
    const { status, ready } = await open(t, { items: listingTexts('a', 250), kind: 'gateway', beforePage })
    await ready
    performance.now = now
    t.deepEqual(
      [status().listings ?? 0, status().lastError?.reason],
      [held, minutes < 10 ? undefined : 'timeout'],
    )
  }
})

test('pulls: a Registry that is called a gateway is pulled by pages', async (t) => {
  const { read } = await openPulled(t, { items: listingTexts('a', 300) }, { kind: 'gateway' })
  t.is((await read()).total, 300)
})

test('a gateway that does not stream is bad_envelope', async (t) => {
  const envelope = { complete: true, sources: [], next_cursor: 'more' }
  const { read } = await openPulled(t, { items: listingTexts('a', 300), envelope }, { kind: 'gateway' })
  t.is((await failureOf(t, read())).reason, 'bad_envelope')
})

for (const [what, body, reason] of [
  ['ends without its last line', listingTexts('a', 3).join('\n'), 'bad_envelope'],
  ['ends behind a listing of a Registry', `${behind('1', 'a')}\n${behind('2', 'a')}\n`, 'bad_envelope'],
  ['is cut within its last line', `${listingTexts('a', 3).join('\n')}\n{"_meta":{"comp`, 'bad_envelope'],
  [
    'has a line of 1 MB',
    `${listingText({ demands: ['x'.repeat(1e6)] })}\n{"_meta":{"complete":true}}\n`,
    'too_large',
  ],
  ['is full of line feeds', `${'\n'.repeat(2000)}{"_meta":{"complete":true}}\n`, 'bad_envelope'],
] as const)
  test(`a stream that ${what} changes nothing`, async (t) => {
    const { pass, fake, status, ...subject } = await openPulled(t, {
      items: listingTexts('a', 250),
      kind: 'gateway',
    })
    const headers = { 'content-type': 'application/x-ndjson' }
    fake.script = [{ kind: 'serve' }, { kind: 'body', body, headers }]
    await subject.read()
    await pass(REFRESH)
    t.is((await heldBy(subject)).length, 250)
    t.is(status().lastError?.reason, reason)
  })

test('a stream may be gzipped, and one that is cut changes nothing', async (t) => {
  const { read, pass, fake, status } = await openPulled(t, { items: listingTexts('a', 250), kind: 'gateway' })
  fake.script = [{ kind: 'serve' }, { kind: 'serve', encoding: 'gzip' }]
  fake.items = listingTexts('b', 300)
  await read()
  await pass(REFRESH)
  t.is((await read()).total, 300)
  t.is(fake.requests.at(-1)?.headers['accept-encoding'], 'gzip')
  const stream = gzipSync(`${listingTexts('c', 300).join('\n')}\n{"_meta":{"complete":true}}\n`)
  const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' }
  fake.script = [{ kind: 'serve' }, { kind: 'body', body: stream.subarray(0, -30), headers }]
  await pass(REFRESH)
  t.is((await read()).total, 300)
  t.truthy(status().lastError)
})

test('a few empty lines of a stream are skipped; unreadable ones are counted, and hide no other', async (t) => {
  const items = [
    ...listingTexts('a', 250),
    '',
    '{"status":"open"}',
    listingText({ listing_id: 'long', demands: ['x'.repeat(70_000)] }),
    ...listingTexts('b', 3),
  ]
  const body = `\n\n${items.join('\n\n')}\n\n{"_meta":{"complete":true}}\n\n`
  const headers = { 'content-type': 'application/x-ndjson' }
  const script: Behaviour[] = [{ kind: 'serve' }, { kind: 'body', body, headers }]
  const { read } = await openPulled(t, { items: items.slice(0, 250), kind: 'gateway', script })
  t.like(await read(), { total: 253, invalid: 2 })
})

test('listings of a Registry that the gateway reports as missing are held over as stale', async (t) => {
  const items = [
    behind('1', 'a'),
    behind('2', 'a'),
    behind('3', 'b'),
    behind('4', 'eu/b'),
    behind('5', 'eu/c'),
    behind('6', 'c', ['a']),
  ]
  for (const [left, missing, expected] of [
    [['1'], ['b'], ['1', '3 (old)']],
    [[], ['eu'], ['4 (old)', '5 (old)']],
    [[], ['eu/c', 'a'], ['1 (old)', '2 (old)', '5 (old)', '6 (old)']],
    [[], ['eu/*'], ['4 (old)', '5 (old)']],
    [[], [], []],
  ] as const) {
    const subject = await openPulled(t, { items, kind: 'gateway' })
    subject.fake.items = items.filter((item) => left.some((id) => id === idOf(item)))
    report(subject.fake, ...missing)
    await subject.pass(REFRESH)
    t.deepEqual((await heldBy(subject)).sort(), expected)
  }
})

test('a retained listing that another Registry has now appears once, within max_listings', async (t) => {
  for (const publisherId of [1, 2]) {
    const subject = await openPulled(t, { items: [behind('1', 'a'), behind('2', 'a')], kind: 'gateway' })
    subject.fake.items = [behind('1', 'b').replace('"publisher_id":1', `"publisher_id":${publisherId}`)]
    report(subject.fake, 'a')
    await subject.pass(REFRESH)
    t.deepEqual(await heldBy(subject), ['1', '2 (old)'])
  }
  const few = await openPulled(
    t,
    { items: [behind('1', 'a'), behind('2', 'a')], kind: 'gateway' },
    { maxListings: 2 },
  )
  few.fake.items = [behind('3', 'b')]
  report(few.fake, 'a')
  await few.pass(REFRESH)
  t.is((await heldBy(few)).length, 2)
})

test('a missing source of a gateway keeps its age and its listings over a restart', async (t) => {
  const storage = memoryStorage()
  const items = [behind('1', 'open'), behind('2', 'curated')]
  const before = await openPulled(t, { items, kind: 'gateway' }, { snapshots: { storage } })
  before.fake.items = items.slice(0, 1)
  report(before.fake, 'curated')
  await before.pass(REFRESH)
  t.deepEqual(await heldBy(before), ['1', '2 (old)'])
  const missing = { registry: 'curated', state: 'unavailable', reason: 'timeout' } as const
  t.deepEqual((await before.read()).missing, [{ ...missing, ageSeconds: REFRESH }])
  t.true(before.logged.includes('warn elsewhere upstream gateway answered incomplete'))
  await before.pass(REFRESH)
  t.deepEqual((await before.read()).missing, [{ ...missing, ageSeconds: 2 * REFRESH }])
  await before.close()

  const held = Promise.withResolvers<void>()
  const script: Behaviour[] = [{ kind: 'hold', until: held.promise }]
  const { clock } = before
  const after = await open(t, { items, kind: 'gateway', script }, { snapshots: { storage }, clock })
  t.like(await after.read(), { stale: false, total: 2, asOf: clock.now() })
  t.deepEqual((await after.read()).missing, [{ ...missing, ageSeconds: 2 * REFRESH }])
  t.like(after.status(), { state: 'loaded', missing: [missing] })
  held.resolve()
  await after.ready
  t.like(await after.read(), { stale: false, total: 2, missing: undefined })
})

test('a missing source that was never heard of has no age', async (t) => {
  const envelope = { complete: false, sources: [{ registry: 'a', state: 'not_yet_loaded' }] }
  const { read, pass } = await openPulled(t, { kind: 'gateway', envelope })
  for (let n = 0; n < 2; n++) {
    t.deepEqual((await read()).missing, [{ registry: 'a', state: 'not_yet_loaded' }])
    await pass(REFRESH)
  }
})

/** Ids whose copies change, turn by turn. */
function changesOf({ index }: Pick<Subject, 'index'>): string[][] {
  const changes: string[][] = []
  index.onTouched((listingIds) => void changes.push([...listingIds].sort()))
  return changes
}

test('held: changes are reported in the turn in which they show, and nothing where nothing has changed', async (t) => {
  const [first, ...others] = listingTexts('a', 3)
  const subject = await open(t, { items: [first!, ...others] })
  const { source, index, fake, pass } = subject
  t.is(t.throws(() => source.answer(listingQuery()), { instanceOf: SourceError })?.reason, 'not_yet_loaded')
  t.is(source.rows(), null)
  const changes = changesOf(subject)
  await pass(0)
  t.deepEqual([...new Set(changes.flat())].sort(), ['a-0000', 'a-0001', 'a-0002'])
  t.is(Buffer.from(index.get(source.rows()!, 'a-0001')!.bytes).toString(), others[0]!)
  changes.length = 0
  const reported = Promise.withResolvers<unknown>()
  index.onTouched(() => reported.resolve([index.copiesOf('a-0000').length, index.copiesOf('new').length]))
  fake.items = [...others, listingText({ listing_id: 'new' })]
  await pass(REFRESH)
  await reported.promise
  t.deepEqual([index.copiesOf('a-0000').length, index.copiesOf('new').length], [0, 1])
  t.deepEqual(changes.flat().sort(), ['a-0000', 'new'])
  await pass(REFRESH)
  t.is(changes.flat().length, 2, 'nothing has changed')
})

test('held: nothing is shown while the upstream refuses our key', async (t) => {
  const { source, fake, pass } = await openPulled(t, { items: listingTexts('a', 2) })
  const changes: string[] = []
  source.follow(({ kind }) => void changes.push(kind))
  const refusal = () => {
    try {
      return source.answer(listingQuery()) && null
    } catch (error) {
      return error instanceof SourceError ? error.reason : error
    }
  }
  t.is(refusal(), null)
  fake.script = [{ kind: 'status', status: 401 }]
  await pass(REFRESH)
  t.is(refusal(), 'unauthorized')
  t.is(source.coverage(), 'none')
  fake.script = DOWN
  await pass(REFRESH)
  t.is(refusal(), 'unauthorized', 'another failure takes nothing back')
  fake.script = SERVE
  await eventually('back', async () => {
    await pass(REFRESH * 10)
    return refusal() === null
  })
  t.deepEqual(
    changes.filter((kind) => kind === 'shown' || kind === 'hidden'),
    ['hidden', 'shown'],
  )
})

test('held: of several items of one listing at a gateway the last one counts', async (t) => {
  const items = [behind('1', 'a'), behind('1', 'b'), behind('1', 'c').replace('storefront.ex', 'other.ex')]
  const { index, read } = await openPulled(t, { items, kind: 'gateway' })
  t.deepEqual(
    index
      .copiesOf('1')
      .map(({ origin }) => origin?.registry)
      .sort(),
    ['b', 'c'],
  )
  t.is((await read()).total, 2)
})

test('one listing: a gateway chooses the copy, and a closed one that it shows removes none of its pages', async (t) => {
  const items = [behind('1', 'a'), behind('2', 'a')]
  const { read, fake } = await openPulled(t, { items, kind: 'gateway' })
  fake.items = [items[0]!, items[1]!.replace('"open"', '"closed"').replace('"a"', '"better"')]
  const [shown] = (await read({ listingId: '2', status: null })).listings
  t.is(shown?.origin?.registry, 'better')
  t.deepEqual(idsOf(await read()), ['1', '2'])
})

test('pulls: between whole pulls only what is new is added, where first page and counts explain it', async (t) => {
  const items = listingTexts('a', 450)
  const {
    read,
    refresh: _,
    fake,
    clock,
    state,
  } = await openPulled(t, { items, hasCounts: true }, { refreshSeconds: 15, fullRefreshSeconds: 60 })
  const firstAt = clock.now()
  const totals: number[] = []
  /** Requests of the pull that is due. */
  const pullWith = async (listings: readonly string[]): Promise<number> => {
    await read()
    fake.items = [...listings]
    const before = fake.requests.length
    clock.advance(15_000)
    await eventually('looked at', () => state.snapshot.history.lookedAt === clock.now())
    await eventually('asked', () => clock.pending() > 0 && fake.requests.length > before)
    await eventually(
      `of ${listings.length} listings`,
      () => state.snapshot.current?.totals?.total,
      (total) => total === listings.length,
    )
    totals.push((await read()).total)
    return fake.requests.length - before
  }
  const published = listingText({ listing_id: 'new', created_at: '2027-01-01T00:00:00' })
  t.is(await pullWith([published, ...items]), 1)
  t.is((await read()).asOf, firstAt, 'its age is that of the last whole pull')
  t.true((await pullWith([published, ...items.slice(0, -1)])) > 1, 'one is gone that is on no first page')
  t.is((await read()).asOf, clock.now())
  t.deepEqual(totals, [451, 450])
})

for (const [how, filterSpec] of [
  ['sent', specBody('one', [MODEL])],
  ['applied here', null],
] as const)
  test(`pulls: what is new on a first page is explained where \`only\` is ${how}`, async (t) => {
    const of = (prefix: string, gpu_model: string, created_at: string) =>
      listingText({ listing_id: prefix, created_at, offer_resource: { gpu_model, gpu_count: 1 } })
    const items = listingTexts('a', 250)
    const { criteria, filters } = filtered([MODEL], ['gpu_model', 'H100'])
    const only = { criteria, filters, key: 'H100' }
    const options = { only, refreshSeconds: 15, fullRefreshSeconds: 600 }
    const { read, fake, clock } = await openPulled(t, { items, filterSpec, hasCounts: true }, options)
    t.is((await read()).total, 250)
    const before = fake.requests.length
    fake.items = [
      of('new', 'H100', '2027-01-02T00:00:00'),
      of('not', 'A100', '2027-01-01T00:00:00'),
      ...items,
    ]
    clock.advance(15_000)
    await eventually('added', async () => (await read()).total === 251)
    clock.advance(15_000)
    await eventually('looked at again', () => fake.requests.length > before + (filterSpec === null ? 1 : 3))
    const offsets = fake.requests.slice(before).map(({ parameters }) => parameters.get('offset'))
    t.deepEqual(new Set(offsets), new Set(['0']), 'no whole pull')
  })

test('pulls: a filter of `only` that the upstream declares and refuses is applied here', async (t) => {
  const refused = { kind: 'status', status: 400, body: '{"detail":"unknown filter: \'gpu_model\'"}' } as const
  const { criteria, filters } = filtered([MODEL], ['gpu_model', 'H100'])
  const fakeOptions = {
    items: [...listingTexts('a', 3), listingText({ offer_resource: { gpu_model: 'A100' } })],
    filterSpec: specBody('one', [MODEL]),
    script: [refused, refused, { kind: 'serve' }] as Behaviour[],
  }
  const { read, ready, clock, fake } = await open(t, fakeOptions, {
    only: { criteria, filters, key: 'H100' },
  })
  await ready
  clock.advance(15_000)
  await eventually('pulled', () => fake.requests.length === 3)
  await eventually('held', async () => (await read().catch(() => null))?.total === 3)
  t.deepEqual(
    fake.requests.map(({ parameters }) => parameters.get('gpu_model')),
    ['H100', 'H100', null],
  )
})

test('pulls: of listings of one id on a first page 32 are added, and the others are invalid', async (t) => {
  const items = listingTexts('a', 300)
  const options = { kind: 'gateway', refreshSeconds: 15, fullRefreshSeconds: 60 } as const
  const { read, fake, clock } = await openPulled(t, { items, kind: 'gateway' }, options)
  await read()
  const popular = Array.from({ length: 40 }, (_, n) =>
    listingText({
      listing_id: 'popular',
      created_at: '2027-01-01T00:00:00',
      _meta: { registry: 'r', publisher: `0x${String(n).padStart(40, '0')}` },
    }),
  )
  fake.items = [...popular, ...items]
  const before = fake.requests.length
  clock.advance(15_000)
  const reading = await eventually('added', read, ({ total }) => total !== items.length)
  t.like(reading, { total: 332, invalid: 8 })
  t.is(fake.requests.length, before + 1, 'the first page alone')
})

test('pulls: without readers only the first page is asked, and the first question begins a whole pull', async (t) => {
  const { read, fake, clock, state } = await openPulled(t, { items: listingTexts('a', 450) })
  const whole = fake.requests.length
  for (let n = 1; n <= 5; n++) {
    clock.advance(REFRESH * 1000)
    // The next look is scheduled once this one has ended.
    await eventually(`asked ${n} times`, () => fake.requests.length >= whole + n && clock.pending() > 0)
  }
  t.is(fake.requests.length, whole + 5)
  t.like(await read(), { total: 450, stale: true })
  clock.advance(0)
  await eventually('a new snapshot', () => state.snapshot.current?.takenAt === clock.now())
  t.like(await read(), { total: 450, stale: false, asOf: clock.now() })
})

/** A source that is older than `fresh_seconds`, and a listing in it. */
async function openOld(t: ExecutionContext) {
  const items = [...listingTexts('a', 2), ...listingTexts('b', 1, { demands: ['old'] })]
  const subject = await openPulled(t, { items })
  subject.clock.advance(PAST_FRESH + 1)
  const ask = (query: Partial<ListingQuery> = {}) =>
    subject.read({ listingId: 'b-0000', status: null, ...query })
  return { ...subject, ask, items }
}

test('one listing: the upstream is asked where the data in memory are older than fresh_seconds', async (t) => {
  const { ask, fake, clock, items } = await openOld(t)
  fake.items = [...items.slice(0, 2), items[2]!.replace('old', 'new')]
  t.like(await ask(), { asOf: clock.now() })
  t.true(textsOf(await ask())[0]!.includes('new'))
})

test('one listing: a copy that its upstream has no more, or has closed, leaves the memory', async (t) => {
  for (const left of [[], listingTexts('b', 1, { status: 'closed' })]) {
    const { ask, fake, items, read, ...subject } = await openOld(t)
    const changes = changesOf(subject)
    fake.items = [...items.slice(0, 2), ...left]
    t.is((await ask()).listings.length, left.length)
    t.deepEqual(changes, [['b-0000']])
    t.deepEqual(idsOf(await read()), ['a-0000', 'a-0001'])
  }
})

test('one listing: where the upstream cannot be asked, the copy in memory answers with its age', async (t) => {
  const { ask, fake, clock } = await openOld(t)
  const asOf = clock.now() - PAST_FRESH - 1
  for (const listingScript of [{ kind: 'status', status: 503 }, { kind: 'reset_before_headers' }] as const) {
    fake.listingScript = listingScript
    t.like(await ask(), { asOf, total: 1 })
  }
  fake.listingScript = { kind: 'status', status: 401 }
  t.is((await failureOf(t, ask())).reason, 'unauthorized')
})

test('one listing: fresh data in memory answer without a request, but for no-cache', async (t) => {
  const { read, fake } = await openPulled(t, { items: listingTexts('a', 1) })
  const before = fake.requests.length
  await read({ listingId: 'a-0000', status: null })
  t.is(fake.requests.length, before)
  await read({ listingId: 'a-0000', status: null, caching: 'no-cache' })
  t.is(fake.requests.length, before + 1)
})

test('no-cache: what is new is shown at once, for one request a second that all readers share', async (t) => {
  const items = listingTexts('a', 2)
  const { read, source, fake, clock } = await openPulled(t, { items })
  const before = fake.requests.length
  fake.items = [...items, ...listingTexts('b', 1)]
  clock.advance(1000)
  const refreshed = async () => {
    await source.prepare('no-cache', new AbortController().signal)
    return (await read({ caching: 'no-cache' })).total
  }
  t.deepEqual(await Promise.all([1, 2, 3].map(refreshed)), [3, 3, 3])
  await refreshed()
  t.is(fake.requests.length, before + 1)
})

test('no-cache: what is in memory answers when the time of the query is over', async (t) => {
  const { source, read, fake, clock } = await openPulled(t, { items: listingTexts('a', 2) })
  fake.script = [{ kind: 'hang' }]
  clock.advance(1000)
  const before = fake.requests.length
  const caller = new AbortController()
  const refreshed = source.prepare('no-cache', caller.signal)
  await fake.requested(before + 1)
  caller.abort(new Error('time is over'))
  await refreshed
  t.is((await read({ caching: 'no-cache' })).total, 2)
})

test('pulls: an unchanged first page is not sent again, and proves the whole unchanged where it is the whole', async (t) => {
  const items = listingTexts('a', 3)
  const { fake, pass, read, clock } = await open(t, {
    script: [
      { kind: 'body', body: envelopeText(items, 3), headers: { etag: 'W/"one"' } },
      { kind: 'status', status: 304 },
      { kind: 'body', body: envelopeText(items.slice(1), 2), headers: { etag: 'W/"two"' } },
    ],
  })
  const states = []
  for (const seconds of [0, REFRESH, REFRESH]) {
    await pass(seconds)
    const { total, asOf } = await read()
    states.push([fake.requests.at(-1)?.headers['if-none-match'], total, asOf === clock.now()])
  }
  t.deepEqual(states, [
    [undefined, 3, true],
    ['W/"one"', 3, true],
    ['W/"one"', 2, true],
  ])
})
