import { setImmediate } from 'node:timers/promises'
import test from 'ava'
import { ANONYMOUS, type Reader } from '../../src/domain/api-key.ts'
import type { NamedSource, Source } from '../../src/domain/page.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import { SourceError } from '../../src/domain/source-error.ts'
import { EntrepotError } from '../../src/errors.ts'
import { type Asking, fanOut, type MergedAnswer } from '../../src/gateway/fan-out.ts'
import { listingTexts } from '../helpers/fake-registry.ts'
import { KEY_READER, listingQuery, pageOf, sourceOf } from './gateway-parts.ts'

const ask = (
  sources: readonly NamedSource[],
  query: Partial<ListingQuery> = {},
  { reader = ANONYMOUS, budgetMs = 60_000, signal = new AbortController().signal, asking }: AskOptions = {},
): Promise<MergedAnswer> => fanOut(sources, { budgetMs })(listingQuery(query), reader, signal, asking)

type AskOptions = { reader?: Reader; budgetMs?: number; signal?: AbortSignal; asking?: Asking }

const failing =
  (error: Error): Source =>
  async () => {
    throw error
  }

const hanging: Source = () => new Promise(() => {})

const problemOf = (error: EntrepotError | undefined) => ({ code: error?.code, ...error?.members })

test('sources are reported in the order of the configuration, never of arrival', async (t) => {
  const arrived: string[] = []
  const after = (name: string, turns: number): NamedSource =>
    sourceOf(name, [], {
      ask: async () => {
        for (let turn = 0; turn < turns; turn++) await setImmediate()
        arrived.push(name)
        return pageOf(listingTexts(name, 2))
      },
    })
  const { sources } = await ask([after('slow', 20), after('quick', 0), after('middling', 10)])
  t.deepEqual(arrived, ['quick', 'middling', 'slow'])
  t.deepEqual(
    sources.map(({ registry }) => registry),
    ['slow', 'quick', 'middling'],
  )
})

test('a private source is asked, named and counted only for a reader with a key', async (t) => {
  let asked = 0
  const hidden = sourceOf('hidden', [], {
    visibility: 'private',
    ask: async () => {
      asked++
      return pageOf(listingTexts('secret', 3))
    },
  })
  const sources = [sourceOf('open', listingTexts('open', 2)), hidden]
  const anonymous = await ask(sources)
  t.is(asked, 0)
  const alone = await ask(sources.slice(0, 1))
  t.deepEqual([anonymous.items, anonymous.total], [alone.items, alone.total])
  t.is(anonymous.outcomes.length, 1)
  t.notRegex(
    JSON.stringify([anonymous.sources, anonymous.items.map(({ registry }) => registry)]),
    /hidden|secret/,
  )
  const keyed = await ask(sources, {}, { reader: KEY_READER })
  t.is(asked, 1)
  t.is(keyed.total, 5)
  t.deepEqual(
    keyed.sources.map(({ registry, returned }) => [registry, returned]),
    [
      ['open', 2],
      ['hidden', 3],
    ],
  )
})

test('a hidden source leaves no trace where nothing else can answer', async (t) => {
  const hidden = sourceOf('hidden', listingTexts('secret', 3), { visibility: 'private' })
  const error = await t.throwsAsync(ask([hidden]), { instanceOf: EntrepotError })
  t.deepEqual(problemOf(error), { code: 'unavailable', sources: [] })
})

for (const heeds of [true, false]) {
  test(`the budget is kept with a source that hangs and ${heeds ? 'heeds' : 'ignores'} its signal`, async (t) => {
    const heeding: Source = (_query, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const sources = [
      sourceOf('hangs', [], { ask: heeds ? heeding : hanging }),
      sourceOf('answers', listingTexts('a', 3)),
    ]
    const started = performance.now()
    const answer = await ask(sources, {}, { budgetMs: 30 })
    t.true(performance.now() - started < 1000)
    t.is(answer.complete, false)
    t.is(answer.items.length, 3)
    t.like(answer.sources[0], {
      registry: 'hangs',
      state: 'unavailable',
      reason: 'timeout',
      matched: null,
      returned: 0,
    })
    t.like(answer.sources[1], { registry: 'answers', state: 'loaded', matched: 3, returned: 3 })
  })
}

test('an answer after the budget, or a failure, disturbs nobody', async (t) => {
  const late = Promise.withResolvers<never>()
  const sources = [
    sourceOf('late', [], { ask: () => late.promise }),
    sourceOf('answers', listingTexts('a', 1)),
  ]
  const answer = await ask(sources, {}, { budgetMs: 10 })
  late.reject(new SourceError('connection_reset', 'too late'))
  await setImmediate()
  t.is(answer.total, 1)
})

test('each failure is told as its reason, and the others still answer', async (t) => {
  const answer = await ask([
    sourceOf('gone', [], { ask: failing(new SourceError('connection_refused', 'secret detail')) }),
    sourceOf('odd', [], {
      ask: failing(new SourceError('unsupported_filter', 'x', { filters: ['gpu_model'] })),
    }),
    sourceOf('old', [], {
      ask: async () => ({ ...pageOf(listingTexts('o', 1)), stale: true, ageSeconds: 31.7 }),
    }),
    sourceOf('good', [], { ask: async () => ({ ...pageOf(listingTexts('g', 1)), invalid: 2 }) }),
  ])
  const withoutTimes = answer.sources.map(({ elapsed_ms, ...report }) => report)
  t.deepEqual(withoutTimes, [
    { registry: 'gone', state: 'unavailable', reason: 'connection_refused', matched: null, returned: 0 },
    { registry: 'odd', state: 'skipped', reason: 'unsupported_filter', filters: ['gpu_model'] },
    { registry: 'old', state: 'stale', matched: 1, returned: 1, age_seconds: 31 },
    { registry: 'good', state: 'loaded', matched: 1, returned: 1, age_seconds: 0, invalid: 2 },
  ])
  t.is(answer.complete, false)
  t.is(answer.total, 2)
})

test('stale but known is complete', async (t) => {
  const stale = sourceOf('s', [], { ask: async () => ({ ...pageOf([]), stale: true }) })
  t.true((await ask([stale, sourceOf('live', [])])).complete)
})

test('no source usable is never an empty page: 504 when all were late, else 503', async (t) => {
  const late = sourceOf('late', [], { ask: hanging })
  const gone = sourceOf('gone', [], { ask: failing(new SourceError('dns', 'x')) })
  const skipped = sourceOf('skipped', [], { ask: failing(new SourceError('unsupported_filter', 'x')) })
  for (const [sources, status] of [
    [[late, late], 504],
    [[late, gone], 503],
    [[gone, skipped], 503],
    [[skipped], 503],
    [[], 503],
  ] as const) {
    const error = await t.throwsAsync(ask(sources, {}, { budgetMs: 10 }), { instanceOf: EntrepotError })
    t.is(error?.status, status)
    const reports = error?.members.sources
    t.true(Array.isArray(reports) && reports.length === sources.length)
  }
})

const LOCAL = sourceOf('local', [], { mode: 'local', priority: 0 })
const GONE = sourceOf('gone', [], { ask: failing(new SourceError('connection_refused', 'x')) })
const LATE = sourceOf('late', [], { ask: failing(new SourceError('timeout', 'x')) })
const ODD = sourceOf('odd', [], { ask: failing(new SourceError('unsupported_filter', 'x')) })

test('nothing matched and no upstream usable is an error, although the local Registry is there', async (t) => {
  for (const [upstreams, status] of [
    [[GONE], 503],
    [[GONE, LATE], 503],
    [[LATE, LATE], 504],
    [[ODD], 503],
  ] as const) {
    const error = await t.throwsAsync(ask([LOCAL, ...upstreams]), { instanceOf: EntrepotError })
    t.is(error?.status, status)
    t.is((error.members.sources as unknown[]).length, 1 + upstreams.length)
  }
})

test('with a match, with one upstream that answered, or with none visible, an answer stands', async (t) => {
  const full = sourceOf('local', listingTexts('l', 3), { mode: 'local', priority: 0 })
  for (const [sources, total] of [
    [[full, GONE], 3],
    [[LOCAL, GONE, sourceOf('empty', [])], 0],
  ] as const) {
    const answer = await ask(sources)
    t.is(answer.total, total)
    t.false(answer.complete)
  }
  t.is((await ask([full, GONE], { offset: 100 })).items.length, 0, 'there are matches, only not on this page')
  t.true((await ask([LOCAL, { ...GONE, visibility: 'private' }])).complete)
  t.true((await ask([LOCAL, GONE], {}, { asking: { named: ['local'] } })).complete)
})

test('only the sources that are named are asked and shown; a hidden name is refused like one that is none', async (t) => {
  const hidden = sourceOf('hidden', listingTexts('h', 1), { visibility: 'private' })
  const sources = [LOCAL, sourceOf('a', listingTexts('a', 2)), GONE, hidden]
  const answer = await ask(sources, {}, { asking: { named: ['local', 'a'] } })
  t.true(answer.complete)
  t.deepEqual(
    answer.sources.map(({ registry }) => registry),
    ['local', 'a'],
  )
  t.is((await ask(sources, {}, { reader: KEY_READER, asking: { named: ['hidden'] } })).total, 1)
  const refusals = ['hidden', 'nobody'].map((name) =>
    t.throwsAsync(ask(sources, {}, { asking: { named: ['a', name] } }), { instanceOf: EntrepotError }),
  )
  const [secret, unknown] = await Promise.all(refusals)
  t.deepEqual([secret?.status, unknown?.status], [400, 400])
  t.is(secret?.message.replace('hidden', 'nobody'), unknown?.message)
})

test('where all are required, a source without a current answer is an error that shows them all', async (t) => {
  const stale = sourceOf('stale', [], { ask: async () => ({ ...pageOf(listingTexts('s', 1)), stale: true }) })
  const good = sourceOf('good', listingTexts('g', 1))
  for (const bad of [stale, GONE, LATE, ODD]) {
    const error = await t.throwsAsync(ask([LOCAL, good, bad], {}, { asking: { requireAll: true } }), {
      instanceOf: EntrepotError,
    })
    t.is(error?.status, 502)
    t.is((error.members.sources as unknown[]).length, 3)
  }
  t.true((await ask([LOCAL, good], {}, { asking: { requireAll: true } })).complete)
  const hidden = { ...GONE, visibility: 'private' } as const
  await t.notThrowsAsync(ask([LOCAL, good, hidden], {}, { asking: { requireAll: true } }))
})

test('a budget of the request comes before that of the gateway', async (t) => {
  const started = performance.now()
  const answer = await ask(
    [sourceOf('hangs', [], { ask: hanging }), sourceOf('a', listingTexts('a', 1))],
    {},
    { asking: { budgetMs: 20 } },
  )
  t.true(performance.now() - started < 1000)
  t.is(answer.sources[0]?.reason, 'timeout')
})

test('a question that has been here before is answered by the local Registry alone', async (t) => {
  const upstream = sourceOf('up', [], { ask: () => Promise.reject(new Error('asked')) })
  const answer = await ask([LOCAL, upstream], { offset: 5000 }, { asking: { isLoop: true } })
  t.deepEqual(
    answer.sources.map(({ registry, state, reason }) => [registry, state, reason]),
    [
      ['local', 'loaded', undefined],
      ['up', 'skipped', 'loop'],
    ],
  )
  const error = await t.throwsAsync(ask([upstream], {}, { asking: { isLoop: true } }), {
    instanceOf: EntrepotError,
  })
  t.is(error?.status, 508)
})

test('pages are slices of the merged sequence, and every source is asked for what lies before their end', async (t) => {
  const asked: string[] = []
  const spied = (name: string, texts: string[]): NamedSource => {
    const source = sourceOf(name, texts)
    return {
      ...source,
      ask: (query, signal) => {
        asked.push(`${name} ${query.offset}+${query.limit}`)
        return source.ask(query, signal)
      },
    }
  }
  const sources = [spied('a', listingTexts('a', 40)), spied('b', listingTexts('b', 25)), spied('c', [])]
  const whole = await ask(sources, { limit: 200 })
  t.is(whole.total, 65)
  asked.length = 0
  for (const offset of [0, 7, 35, 60, 70]) {
    const { items } = await ask(sources, { offset, limit: 7 })
    t.deepEqual(items, whole.items.slice(offset, offset + 7))
  }
  t.deepEqual(asked.slice(3, 6), ['a 0+14', 'b 0+14', 'c 0+14'])
})

test('a source that is alone is asked for the page itself', async (t) => {
  const texts = listingTexts('a', 40)
  const local = sourceOf('local', texts, { mode: 'local' })
  const deep = await ask([local], { offset: 30, limit: 5 })
  t.deepEqual(
    deep.items.map(({ item }) => item.listingId),
    ['a-0030', 'a-0031', 'a-0032', 'a-0033', 'a-0034'],
  )
  t.is(deep.total, 40)
  t.is((await ask([local], { offset: 5000 })).items.length, 0)
})

test('a page that ends beyond 2,000 is refused while a live source is visible, and says what to use', async (t) => {
  const local = sourceOf('local', [], { mode: 'local' })
  const snapshot = sourceOf('snapshot', [], { mode: 'snapshot' })
  const live = sourceOf('live', [], { visibility: 'private' })
  const far = { offset: 1951, limit: 50 }
  const error = await t.throwsAsync(ask([local, live], far, { reader: KEY_READER }), {
    instanceOf: EntrepotError,
  })
  t.is(error?.status, 400)
  t.regex(error?.message ?? '', /cursor/)
  await t.notThrowsAsync(ask([local, live], { offset: 1950, limit: 50 }, { reader: KEY_READER }))
  await t.notThrowsAsync(ask([local, live], far))
  await t.notThrowsAsync(ask([local, snapshot], far))
})

test('a caller who hangs up ends the asking with his own reason', async (t) => {
  const hangUp = new AbortController()
  const answer = ask([sourceOf('hangs', [], { ask: hanging })], {}, { signal: hangUp.signal })
  const reason = new Error('gone')
  hangUp.abort(reason)
  t.is(await t.throwsAsync(answer), reason)
})

test('a fault of our own is not passed off as a source that failed', async (t) => {
  const broken = sourceOf('broken', [], { ask: failing(new TypeError('bug')) })
  await t.throwsAsync(ask([broken, sourceOf('good', [])]), { instanceOf: TypeError })
})
