import { setImmediate } from 'node:timers/promises'
import test, { type ExecutionContext } from 'ava'
import type { Source } from '../../src/domain/source/reading.ts'
import { SourceError } from '../../src/domain/source/source-error.ts'
import type { SourceReason } from '../../src/domain/source/source-reason.ts'
import { EntrepotError } from '../../src/errors.ts'
import { CURSOR_SECONDS } from '../../src/gateway/cursor.ts'
import { type FakeSource, fakeItem, fakeSource } from '../helpers/fake-source.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { gatewayOver, idsOfPage, KEY_READER, withoutUndefined } from '../helpers/pages.ts'

/** A source with this many listings, `a0` the newest. */
function listings(name: string, count: number, options: Partial<FakeSource> = {}): FakeSource {
  const items = Array.from({ length: count }, (_, n) => fakeItem(`${name}${n}`, 1_000_000 - n))
  return fakeSource(name, items, options)
}

const failing = (name: string, failure: SourceReason, options: Partial<FakeSource> = {}) =>
  fakeSource(name, [], { failure, ...options })
const hanging: Source = () => new Promise(() => {})
const LOCAL = { mode: 'local', priority: 0, isComplete: true } as const
const local = (count = 0) => listings('local', count, LOCAL)

async function refusalOf(t: ExecutionContext, answer: Promise<unknown>): Promise<EntrepotError> {
  return (await t.throwsAsync(answer, { instanceOf: EntrepotError })) ?? t.fail()
}

test('sources are reported in the order of the configuration, not of their answers', async (t) => {
  const answered: string[] = []
  const after = (name: string, turns: number): FakeSource => {
    const source = listings(name, 2)
    const { read } = source
    source.read = async (...asked) => {
      for (let turn = 0; turn < turns; turn++) await setImmediate()
      answered.push(name)
      return read(...asked)
    }
    return source
  }
  const { sources } = await gatewayOver([after('slow', 20), after('quick', 0), after('middling', 10)]).page()
  t.deepEqual(answered, ['quick', 'middling', 'slow'])
  t.deepEqual(
    sources.map(({ registry }) => registry),
    ['slow', 'quick', 'middling'],
  )
})

test('each source is asked for what the page needs, all in one round', async (t) => {
  const sources = [listings('a', 40), listings('b', 25), listings('c', 0)]
  const gateway = gatewayOver(sources)
  const whole = await gateway.page({ limit: 200 })
  t.is(whole.total, 65)
  for (const offset of [0, 7, 35, 60, 70]) {
    for (const { ranges } of sources) ranges.length = 0
    const { items } = await gateway.page({ offset, limit: 7 })
    t.deepEqual(
      items.map(({ item }) => item),
      whole.items.slice(offset, offset + 7).map(({ item }) => item),
    )
    t.deepEqual(
      sources.map(({ ranges }) => ranges[0]?.count),
      [offset + 7, offset + 7, offset + 7],
    )
  }
})

test('a private source is read, named and counted for readers with a key only', async (t) => {
  const hidden = listings('hidden', 3, { visibility: 'private' })
  const sources = [listings('open', 2), hidden]
  const anonymous = await gatewayOver(sources).page()
  t.is(hidden.ranges.length, 0)
  const alone = await gatewayOver(sources.slice(0, 1)).page()
  t.deepEqual(idsOfPage(anonymous), idsOfPage(alone))
  t.is(anonymous.total, alone.total)
  t.notRegex(JSON.stringify([anonymous.sources, anonymous.outcomes]), /hidden/)
  const keyed = await gatewayOver(sources).page({}, { reader: KEY_READER })
  t.is(keyed.total, 5)
  t.deepEqual(
    keyed.sources.map(({ registry, returned }) => [registry, returned]),
    [
      ['open', 2],
      ['hidden', 3],
    ],
  )
  const error = await refusalOf(t, gatewayOver([hidden]).page())
  t.deepEqual([error.code, error.members], ['unavailable', { sources: [] }])
})

test('a source without an answer within the budget fails as timeout, even if it ignores its signal', async (t) => {
  const heeding: Source = (_query, _range, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  for (const read of [heeding, hanging]) {
    const sources = [fakeSource('hangs', [], { read }), listings('a', 3)]
    for (const answer of [
      gatewayOver(sources, { budgetMs: 30 }).page(),
      gatewayOver(sources).page({}, { budgetMs: 30 }),
    ]) {
      const { items, complete, sources: reports } = await answer
      t.false(complete)
      t.is(items.length, 3)
      t.like(reports[0], {
        registry: 'hangs',
        state: 'unavailable',
        reason: 'timeout',
        matched: null,
        returned: 0,
      })
      t.like(reports[1], { registry: 'a', state: 'loaded', matched: 3, returned: 3 })
    }
  }
})

test('a Reading that comes after the budget, or fails then, changes nothing', async (t) => {
  const late = Promise.withResolvers<never>()
  const sources = [fakeSource('late', [], { read: () => late.promise }), listings('a', 1)]
  const page = await gatewayOver(sources, { budgetMs: 10 }).page()
  late.reject(new SourceError('connection_reset', 'too late'))
  await setImmediate()
  t.is(page.total, 1)
})

test('each source is reported as it answered, and the answers of the others count', async (t) => {
  const now = manualClock().now()
  const answering = (name: string, more: object): FakeSource => {
    const source = listings(name, 1)
    const { read } = source
    source.read = async (...asked) => ({ ...(await read(...asked)), asOf: now, ...more })
    return source
  }
  const odd = new SourceError('unsupported_filter', 'x', { filters: ['gpu_model'] })
  const { sources, complete, total } = await gatewayOver([
    failing('gone', 'connection_refused'),
    fakeSource('odd', [], { read: () => Promise.reject(odd) }),
    answering('old', { stale: true, asOf: now - 31_700, reason: 'timeout' }),
    answering('good', { invalid: 2 }),
    failing('new', 'not_yet_loaded'),
  ]).page()
  t.deepEqual(
    sources.map(({ elapsed_ms, ...report }) => withoutUndefined(report)),
    [
      { registry: 'gone', state: 'unavailable', reason: 'connection_refused', matched: null, returned: 0 },
      { registry: 'odd', state: 'skipped', reason: 'unsupported_filter', filters: ['gpu_model'] },
      { registry: 'old', state: 'stale', matched: 1, returned: 1, age_seconds: 31, reason: 'timeout' },
      { registry: 'good', state: 'loaded', matched: 1, returned: 1, age_seconds: 0, invalid: 2 },
      { registry: 'new', state: 'not_yet_loaded', matched: null, returned: 0 },
    ],
  )
  t.false(complete)
  t.is(total, 2)
  t.true((await gatewayOver([answering('old', { stale: true })]).page()).complete)
})

test('what a gateway reports as missing follows its report, and the answer is not complete', async (t) => {
  const source = listings('eu', 1)
  const { read } = source
  const missing = [{ registry: 'curated', state: 'unavailable', reason: 'timeout', ageSeconds: 7.9 }] as const
  source.read = async (...asked) => ({ ...(await read(...asked)), missing })
  const { sources, complete } = await gatewayOver([source]).page()
  t.false(complete)
  t.deepEqual(withoutUndefined(sources[1]), {
    registry: 'eu/curated',
    state: 'unavailable',
    reason: 'timeout',
    matched: null,
    returned: 0,
    age_seconds: 7,
  })
})

test('no usable source is 504 where all were late, else 503, and never an empty page', async (t) => {
  const late = fakeSource('late', [], { read: hanging })
  const [gone, skipped] = [failing('gone', 'dns'), failing('skipped', 'unsupported_filter')]
  for (const [sources, status] of [
    [[late], 504],
    [[late, gone], 503],
    [[gone, skipped], 503],
    [[skipped], 503],
    [[], 503],
    // Nothing matched, and no upstream could answer.
    [[local(), gone], 503],
    [[local(), late], 504],
    [[local(), failing('timeout', 'timeout'), gone], 503],
  ] as const) {
    const error = await refusalOf(t, gatewayOver(sources, { budgetMs: 10 }).page())
    t.is(error.status, status)
    t.is((error.members.sources as unknown[]).length, sources.length)
  }
})

test('an answer needs a match, an upstream that answered, or no visible upstream', async (t) => {
  const gone = failing('gone', 'dns')
  const full = await gatewayOver([local(3), gone]).page()
  t.deepEqual([full.total, full.complete], [3, false])
  t.deepEqual((await gatewayOver([local(3), gone]).page({ offset: 100 })).items, [])
  t.is((await gatewayOver([local(), gone, listings('empty', 0)]).page()).total, 0)
  t.true((await gatewayOver([local(), { ...gone, visibility: 'private' }]).page()).complete)
  t.true((await gatewayOver([local(), gone]).page({}, { named: ['local'] })).complete)
})

test('only named sources are read; a hidden name is refused like an unknown one', async (t) => {
  const sources = [
    local(),
    listings('a', 2),
    failing('gone', 'dns'),
    listings('hidden', 1, { visibility: 'private' }),
  ]
  const page = await gatewayOver(sources).page({}, { named: ['local', 'a'] })
  t.true(page.complete)
  t.deepEqual(
    page.sources.map(({ registry }) => registry),
    ['local', 'a'],
  )
  t.is((await gatewayOver(sources).page({}, { reader: KEY_READER, named: ['hidden'] })).total, 1)
  const [hidden, unknown] = await Promise.all(
    ['hidden', 'unknown'].map((name) => refusalOf(t, gatewayOver(sources).page({}, { named: ['a', name] }))),
  )
  t.deepEqual([hidden?.status, unknown?.status], [400, 400])
  t.is(hidden?.message.replace('hidden', 'unknown'), unknown?.message)
})

test('with require=all a source without a current answer is 502', async (t) => {
  const stale = listings('stale', 1)
  const { read } = stale
  stale.read = async (...asked) => ({ ...(await read(...asked)), stale: true })
  for (const bad of [stale, failing('gone', 'dns'), failing('odd', 'unsupported_filter')]) {
    const error = await refusalOf(t, gatewayOver([local(), bad]).page({}, { requireAll: true }))
    t.is(error.status, 502)
    t.is((error.members.sources as unknown[]).length, 2)
  }
  const hidden = failing('hidden', 'dns', { visibility: 'private' })
  t.true((await gatewayOver([local(), listings('a', 1), hidden]).page({}, { requireAll: true })).complete)
})

test('a looping question is answered by the local Registry alone', async (t) => {
  const upstream = listings('up', 1)
  const { sources, nextCursor } = await gatewayOver([local(9), upstream]).page({ limit: 2 }, { isLoop: true })
  t.deepEqual(
    sources.map(({ registry, state, reason }) => [registry, state, reason]),
    [
      ['local', 'loaded', undefined],
      ['up', 'skipped', 'loop'],
    ],
  )
  t.is(nextCursor, undefined)
  t.is(upstream.ranges.length, 0)
  t.is((await refusalOf(t, gatewayOver([upstream]).page({}, { isLoop: true }))).status, 508)
})

test('a page by offset beyond 2,000 is refused while a live source is visible, and names the cursor', async (t) => {
  const live = listings('live', 0, { visibility: 'private' })
  const snapshot = listings('snapshot', 0, { isComplete: true })
  const far = { offset: 1951, limit: 50 }
  const asking = { reader: KEY_READER }
  const error = await refusalOf(t, gatewayOver([local(), live]).page(far, asking))
  t.is(error.status, 400)
  t.regex(error.message, /cursor/)
  await t.notThrowsAsync(gatewayOver([local(), live]).page({ offset: 1950, limit: 50 }, asking))
  await t.notThrowsAsync(gatewayOver([local(), live]).page(far))
  await t.notThrowsAsync(gatewayOver([local(), snapshot]).page(far, asking))
})

test('a cursor continues its own question only, until it expires', async (t) => {
  const clock = manualClock()
  const sources = [listings('a', 30), listings('b', 30, { visibility: 'private' })]
  const gateway = gatewayOver(sources, { clock })
  const { nextCursor: cursor = '', total } = await gateway.page({ limit: 20 })
  const next = await gateway.page({ limit: 50 }, { cursor })
  t.deepEqual([next.items.length, next.total, next.nextCursor], [10, total, undefined])
  for (const [query, options] of [
    [{ status: 'closed' }, {}],
    [{ publisher: '0xabc' }, {}],
    [{ filters: [['gpu_model', 'H100']] }, {}],
    [{ via: ['another'] }, {}],
    [{}, { reader: KEY_READER }],
    [{}, { reader: KEY_READER, named: ['b'] }],
  ] as const) {
    const error = await refusalOf(t, gateway.page(query, { cursor, ...options }))
    t.is(error.status, 400)
    t.regex(error.message, /cursor/)
  }
  clock.advance(CURSOR_SECONDS * 1000)
  await t.notThrowsAsync(gateway.page({}, { cursor }))
  clock.advance(1000)
  t.regex((await refusalOf(t, gateway.page({}, { cursor }))).message, /expired/)
})

test('an abort ends a page, and a fault of this program is not a failed source', async (t) => {
  const leaving = new AbortController()
  const answer = gatewayOver([fakeSource('hangs', [], { read: hanging })]).page(
    {},
    { signal: leaving.signal },
  )
  const gone = new Error('gone')
  leaving.abort(gone)
  t.is(await t.throwsAsync(answer), gone)
  const broken = fakeSource('broken', [], { read: () => Promise.reject(new TypeError('bug')) })
  await t.throwsAsync(gatewayOver([broken, listings('a', 1)]).page(), { instanceOf: TypeError })
})
