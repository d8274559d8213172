import test from 'ava'
import type { Reading } from '../../../../src/domain/source/reading.ts'
import { SourceError } from '../../../../src/domain/source/source-error.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { type Behaviour, envelopeText, idOf, listingTexts } from '../../../helpers/fake-registry.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import {
  failureOf,
  idsOf,
  openUpstream,
  PAST_DELETE,
  PAST_FRESH,
  PAST_REVALIDATE,
  runCache,
} from '../../../helpers/upstream.ts'

const DOWN: Behaviour = { kind: 'status', status: 502 }
const OLD = listingTexts('old', 1)
const NEW = listingTexts('new', 1)

function outcomeOf({ cache }: Reading): string | undefined {
  return cache?.outcome
}

const readUntil = (read: () => Promise<Reading>, holds: (reading: Reading) => boolean): Promise<Reading> =>
  eventually('such a reading', read, holds)

test('while it is fresh a run is read once, for every reader and any part of it', async (t) => {
  const { read, fake, clock, status } = await openUpstream(t, { items: listingTexts('a', 120) })
  t.like(await read({}, { count: 101 }), { stale: false, cache: { outcome: 'miss', ttlSeconds: 15 } })
  clock.advance(PAST_FRESH - 1)
  const reading = await read({}, { count: 70 })
  t.like(reading, {
    stale: false,
    asOf: clock.now() - PAST_FRESH + 1,
    cache: { outcome: 'hit', ttlSeconds: 0 },
  })
  t.true(reading.isCurrent?.())
  t.is(fake.requests.length, 1)
  t.like(status().cache, { fresh: 1, miss: 1 })
  clock.advance(1)
  t.false(reading.isCurrent?.())
})

test('an empty run counts what it takes besides its body', async (t) => {
  const { read, status } = await openUpstream(t)
  for (let n = 0; n < 10; n++) await read({ via: [`gateway-${n}`] })
  const { bytes } = status().cache
  t.true(bytes > 10 * 2000, `${bytes}`)
})

test('other questions are other runs; the order of filters does not matter', async (t) => {
  const { read, fake } = await openUpstream(t)
  const filters = [
    ['gpu_model', 'H100'],
    ['region', 'Tokyo'],
  ] as const
  for (const [n, query] of [
    { publisher: '0xabc' },
    {},
    { status: null },
    { via: ['another'] },
    { listingId: 'a' },
    { listingId: 'b' },
  ].entries()) {
    await read(query)
    await read(query)
    t.is(fake.requests.length, n + 1)
  }
  const { read: readFiltered, fake: other } = await openUpstream(t)
  await readFiltered({ filters })
  await readFiltered({ filters: filters.toReversed() })
  t.is(other.requests.length, 1)
})

test('a run that is too short is read again, from the top', async (t) => {
  const items = listingTexts('a', 600)
  const { read, fake, clock } = await openUpstream(t, { items })
  await read()
  clock.advance(5000)
  const more = await read({}, { count: 240 })
  t.deepEqual(idsOf(more), items.slice(0, 240).map(idOf))
  t.is(more.asOf, clock.now())
  t.is(fake.requests[1]?.parameters.get('offset'), '0')
})

test('a walk by cursor costs at most one request a page', async (t) => {
  for (const kind of ['registry', 'gateway'] as const) {
    const items = listingTexts('a', 1000)
    const { read, fake } = await openUpstream(t, { items, kind })
    const ids: string[] = []
    let reading = await read()
    for (let page = 1; ; page++) {
      t.true(fake.requests.length <= page)
      ids.push(...idsOf(reading).slice(0, 50))
      const last = reading.listings[49]
      if (last === undefined || !reading.hasMore) break
      const { position, listingId, offset = 0, resume } = last
      const after = { position, listingId }
      reading = await read({}, { after, offsetHint: offset + 1, resume, count: 50 })
    }
    t.deepEqual(ids, items.map(idOf))
  }
})

test('a stale run is served at once while it is read again, once', async (t) => {
  const held = Promise.withResolvers<void>()
  const { read, fake, clock } = await openUpstream(t, { items: OLD })
  await read()
  clock.advance(PAST_FRESH)
  fake.items = NEW
  fake.script = [{ kind: 'hold', until: held.promise }]
  for (const reading of [await read(), await read()]) {
    t.deepEqual(idsOf(reading), ['old-0000'])
    t.like(reading, { stale: false, cache: { outcome: 'revalidating', ttlSeconds: 0 } })
  }
  await fake.requested(2)
  held.resolve()
  const reading = await readUntil(read, (one) => outcomeOf(one) === 'hit')
  t.deepEqual(idsOf(reading), ['new-0000'])
  t.is(fake.requests.length, 2)
})

test('after a failed revalidation a run is a copy with the reason, until it is read again', async (t) => {
  const { read, fake, clock } = await openUpstream(t, { items: OLD })
  await read()
  clock.advance(PAST_FRESH)
  fake.script = [DOWN]
  t.is(outcomeOf(await read()), 'revalidating')
  const copy = await readUntil(read, ({ stale }) => stale)
  t.like(copy, { reason: 'http_502', asOf: clock.now() - PAST_FRESH, cache: { outcome: 'stale' } })
  t.deepEqual(idsOf(copy), ['old-0000'])
  fake.script = [{ kind: 'serve' }]
  fake.items = NEW
  const reading = await readUntil(read, ({ stale }) => !stale)
  t.deepEqual(idsOf(reading), ['new-0000'])
})

test('a run that is stale for long is waited for', async (t) => {
  const { read, fake, clock } = await openUpstream(t, { items: OLD })
  await read()
  fake.items = NEW
  clock.advance(PAST_REVALIDATE)
  const reading = await read()
  t.deepEqual([idsOf(reading), outcomeOf(reading)], [['new-0000'], 'miss'])
})

test('a stale run served for a failure has its age, and the failure is not stored', async (t) => {
  const { read, fake, clock } = await openUpstream(t, { items: OLD })
  await read()
  clock.advance(PAST_REVALIDATE)
  fake.script = [DOWN]
  const reading = await read()
  const asOf = clock.now() - PAST_REVALIDATE
  t.like(reading, { stale: true, reason: 'http_502', asOf, cache: { outcome: 'stale', ttlSeconds: -60 } })
  t.false(reading.isCurrent?.())
  fake.script = [{ kind: 'serve' }]
  fake.items = NEW
  t.deepEqual(idsOf(await read()), ['new-0000'])
  clock.advance(PAST_DELETE)
  fake.script = [DOWN]
  t.is((await failureOf(t, read())).reason, 'http_502')
})

test('after 508 no stale run is served', async (t) => {
  const { read, fake, clock } = await openUpstream(t, { items: OLD })
  await read()
  clock.advance(PAST_REVALIDATE)
  fake.script = [{ kind: 'status', status: 508 }]
  t.is((await failureOf(t, read())).reason, 'http_508')
})

const DIRECTIVES: readonly (readonly [string, Record<string, string>, requests: readonly number[]])[] = [
  // Requests so far after questions at 0 s, 4 s, 6 s and 14 s.
  ['none', {}, [1, 1, 1, 1]],
  ['no-store', { 'cache-control': 'no-store' }, [1, 2, 3, 4]],
  ['private', { 'cache-control': 'max-age=60, Private' }, [1, 2, 3, 4]],
  ['no-cache', { 'cache-control': 'no-cache' }, [1, 2, 3, 4]],
  ['a lower max-age', { 'cache-control': 'public, max-age=5, must-revalidate' }, [1, 1, 2, 3]],
  ['a higher max-age', { 'cache-control': 'max-age=600' }, [1, 1, 1, 1]],
  ['a lower s-maxage', { 'cache-control': 'max-age=600, s-maxage=5' }, [1, 1, 2, 3]],
  ['an age', { 'cache-control': 'max-age=20,must-revalidate', age: '15' }, [1, 1, 2, 3]],
  ['a malformed max-age', { 'cache-control': 'max-age=soon' }, [1, 2, 3, 4]],
]

for (const [what, headers, requests] of DIRECTIVES)
  test(`directives of the upstream apply: ${what}`, async (t) => {
    const body = envelopeText(listingTexts('a', 1), 1)
    const { read, fake, clock } = await openUpstream(t, { script: [{ kind: 'body', body, headers }] })
    const counts: number[] = []
    for (const wait of [0, 4000, 2000, 8000]) {
      clock.advance(wait)
      await read()
      counts.push(fake.requests.length)
    }
    t.deepEqual(counts, requests)
  })

test('a private answer is stored for the key that it was given to, and no other sees it', async (t) => {
  const clock = manualClock()
  const parts = { runs: runCache(clock) }
  const body = envelopeText(OLD, 1)
  const script: Behaviour[] = [{ kind: 'body', body, headers: { 'cache-control': 'private, max-age=60' } }]
  const one = await openUpstream(t, { script }, { clock, parts, key: 'one' })
  const twin = await openUpstream(t, {}, { clock, parts, fake: one.fake, key: 'one', name: 'twin' })
  const other = await openUpstream(t, {}, { clock, parts, fake: one.fake, key: 'other' })
  await one.read()
  t.is(outcomeOf(await twin.read()), 'hit')
  t.is(outcomeOf(await other.read()), 'miss')
  t.is(one.fake.requests.length, 2)
})

test('the age that the upstream states counts', async (t) => {
  const script: Behaviour[] = [{ kind: 'body', body: envelopeText([], 0), headers: { age: '7' } }]
  const { read, clock } = await openUpstream(t, { script })
  t.is((await read()).asOf, clock.now() - 7000)
})

test('concurrent readers share one request, and an abort fails no other reader', async (t) => {
  const held = Promise.withResolvers<void>()
  const script: Behaviour[] = [{ kind: 'hold', until: held.promise }]
  const { read, source, fake } = await openUpstream(t, { items: OLD, script })
  const leaving = new AbortController()
  const range = { after: null, offsetHint: 0, count: 50 }
  const query = { status: 'open', publisher: null, criteria: [], filters: [] } as const
  const left = source.read(query, range, leaving.signal)
  const others = [read(), read()]
  await fake.requested()
  leaving.abort(new Error('gone'))
  held.resolve()
  for (const reading of await Promise.all([...others, left])) t.deepEqual(idsOf(reading), ['old-0000'])
  t.is(fake.requests.length, 1)
})

test('a run that no reader waits for any more is stored', async (t) => {
  const held = Promise.withResolvers<void>()
  const { source, read, fake, clock } = await openUpstream(t, { items: OLD })
  await read()
  clock.advance(PAST_REVALIDATE)
  fake.script = [{ kind: 'hold', until: held.promise }]
  fake.items = NEW
  const leaving = new AbortController()
  const range = { after: null, offsetHint: 0, count: 50 }
  const query = { status: 'open', publisher: null, criteria: [], filters: [] } as const
  const left = source.read(query, range, leaving.signal)
  await fake.requested(2)
  leaving.abort(new SourceError('timeout', 'the budget is spent'))
  // Out of time, a reader is served what is stored.
  t.like(await left, { stale: true, reason: 'timeout' })
  held.resolve()
  const reading = await readUntil(
    () => read({ caching: 'only-if-cached' }),
    ({ stale }) => !stale,
  )
  t.deepEqual(idsOf(reading), ['new-0000'])
  t.is(fake.requests.length, 2)
})

test('no-cache reads again and stores the run; a failure serves the stale one', async (t) => {
  const { read, fake } = await openUpstream(t, { items: OLD })
  await read()
  fake.items = NEW
  t.deepEqual(idsOf(await read({ caching: 'no-cache' })), ['new-0000'])
  t.is(outcomeOf(await read()), 'hit')
  t.deepEqual(idsOf(await read()), ['new-0000'])
  t.is(fake.requests.length, 2)
  fake.script = [DOWN]
  t.like(await read({ caching: 'no-cache' }), { stale: true, reason: 'http_502' })
})

test('no-cache joins no reader who does without it', async (t) => {
  const { read, fake } = await openUpstream(t, { items: listingTexts('old', 300) })
  await read()
  fake.items = listingTexts('new', 300)
  const held = Promise.withResolvers<void>()
  fake.script = [{ kind: 'hold', until: held.promise }]
  const continued = read({}, { count: 120 })
  await fake.requested(2)
  const uncached = read({ caching: 'no-cache' }, { count: 120 })
  held.resolve()
  await continued
  t.deepEqual([...new Set(idsOf(await uncached).map((id) => id.slice(0, 3)))], ['new'])
})

test('only-if-cached asks no upstream: what is stored, or a timeout at once', async (t) => {
  const { read, fake, clock } = await openUpstream(t, { items: OLD })
  t.is((await failureOf(t, read({ caching: 'only-if-cached' }))).reason, 'timeout')
  await read()
  t.is(outcomeOf(await read({ caching: 'only-if-cached' })), 'hit')
  clock.advance(PAST_FRESH)
  t.is(outcomeOf(await read({ caching: 'only-if-cached' })), 'revalidating')
  clock.advance(PAST_REVALIDATE - PAST_FRESH)
  t.like(await read({ caching: 'only-if-cached' }), { stale: true, asOf: clock.now() - PAST_REVALIDATE })
  clock.advance(PAST_DELETE)
  await failureOf(t, read({ caching: 'only-if-cached' }))
  t.is(fake.requests.length, 1)
})

test('a refresh drops what is stored, and does not store what is being read', async (t) => {
  const { read, refresh, fake } = await openUpstream(t, { items: OLD })
  const held = Promise.withResolvers<void>()
  fake.script = [{ kind: 'hold', until: held.promise }, { kind: 'serve' }]
  const early = read()
  await fake.requested()
  refresh()
  fake.items = NEW
  t.deepEqual(idsOf(await read()), ['new-0000'])
  fake.items = OLD
  held.resolve()
  t.deepEqual(idsOf(await early), ['old-0000'])
  const reading = await read()
  t.deepEqual([idsOf(reading), outcomeOf(reading)], [['new-0000'], 'hit'])
  t.is(fake.requests.length, 3, 'a refresh also sends a probe')
})

test('a run expires in its time though the clock is set back or forward', async (t) => {
  const clock = manualClock()
  const { read, fake } = await openUpstream(t, { items: OLD }, { clock })
  const reading = await read()
  fake.items = NEW
  for (const ms of [-3_600_000, 7_200_000]) {
    clock.set(ms)
    t.true(reading.isCurrent?.())
    t.deepEqual(idsOf(await read()), ['old-0000'])
  }
  clock.set(-7_200_000)
  clock.advance(3_600_000)
  t.false(reading.isCurrent?.())
  t.deepEqual(idsOf(await read()), ['new-0000'])
})

test('all stored runs together are bounded in bytes', async (t) => {
  const clock = manualClock()
  const runs = runCache(clock, 200_000)
  const { read, status } = await openUpstream(
    t,
    { items: listingTexts('a', 200) },
    { clock, parts: { runs } },
  )
  for (let n = 0; n < 20; n++) await read({ via: [`gateway-${n}`] })
  const { bytes } = status().cache
  t.true(bytes > 100_000 && bytes <= 200_000, String(bytes))
  t.is(outcomeOf(await read({ via: ['gateway-19'] })), 'hit')
  t.is(outcomeOf(await read({ via: ['gateway-0'] })), 'miss')
})
