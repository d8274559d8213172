import test, { type ExecutionContext } from 'ava'
import { ANONYMOUS } from '../../src/domain/api-key.ts'
import type { Page } from '../../src/domain/page.ts'
import { SourceError, type SourceReason } from '../../src/domain/source-error.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'
import { fanOut } from '../../src/gateway/fan-out.ts'
import {
  type Behaviour,
  envelopeText,
  type FakeOptions,
  listingText,
  listingTexts,
} from '../helpers/fake-registry.ts'
import { listingQuery, sourceOf } from './gateway-parts.ts'
import {
  eventually,
  keepPages,
  PAST_DELETE,
  PAST_FRESH,
  PAST_WAIT,
  pageCache,
  startUpstream,
} from './upstream-parts.ts'

const ids = ({ items }: Page): string[] => items.map(({ listingId }) => listingId)
const outcome = ({ cache }: Page) => cache?.outcome
const failure = async (t: ExecutionContext, answer: Promise<Page>): Promise<SourceError> =>
  (await t.throwsAsync(answer, { instanceOf: SourceError })) ?? t.fail()

const start = async (
  t: ExecutionContext,
  fake: FakeOptions = {},
  upstream: Partial<UpstreamOptions> = {},
) => {
  const started = await startUpstream(t, fake, upstream)
  return { ...started, ...keepPages(t, started.options, started) }
}

const GOOD: Behaviour = { kind: 'serve' }
const DOWN: Behaviour = { kind: 'status', status: 500 }

test('while it is fresh a page is fetched once, whoever asks for how much of it', async (t) => {
  const { ask, fake, clock, pages } = await start(t, { items: listingTexts('a', 120) })
  t.like(await ask(), { ageSeconds: 0, stale: false, cache: { outcome: 'miss', ttlSeconds: 15 } })
  clock.advance(PAST_FRESH - 1)
  const page = await ask({ offset: 50, limit: 60 })
  t.is(page.items.length, 60)
  t.like(page, { stale: false, cache: { outcome: 'hit', ttlSeconds: 0 } })
  t.is(page.ageSeconds, 14.999)
  t.is(fake.requests.length, 1)
  t.like(pages.counts, { hit: 1, revalidating: 0, stale: 0, miss: 1 })
  t.true(pages.counts.bytes > 120 * 300)
})

test('other questions are other pages; the order of filters is not', async (t) => {
  const { ask, fake } = await start(t)
  const filters = [
    ['gpu_model', 'H100'],
    ['region', 'Tokyo'],
  ] as const
  await ask({ filters })
  await ask({ filters: filters.toReversed() })
  t.is(fake.requests.length, 1)
  for (const query of [
    {},
    { filters: [['gpu_model', 'H100,region=Tokyo']] },
    { status: null },
    { publisher: '0xabc' },
    { via: ['another'] },
  ] as const)
    await ask(query)
  t.is(fake.requests.length, 6)
})

test('no longer fresh, it is given at once and fetched anew behind it', async (t) => {
  const { ask, pages, fake, clock } = await start(t, { items: listingTexts('old', 1) })
  await ask()
  const held = Promise.withResolvers<void>()
  fake.script = [{ kind: 'hold', until: held.promise }]
  fake.items = listingTexts('new', 2)
  clock.advance(PAST_FRESH)
  for (const page of [await ask(), await ask()]) {
    t.deepEqual(ids(page), ['old-0000'])
    t.like(page, { stale: false, ageSeconds: 15, cache: { outcome: 'revalidating', ttlSeconds: 0 } })
  }
  await fake.requested(2)
  held.resolve()
  await eventually(() => pages.underWay === 0)
  t.like(await ask(), { total: 2, ageSeconds: 0, cache: { outcome: 'hit' } })
  t.is(fake.requests.length, 2)
})

test('for long no longer fresh, it is waited for', async (t) => {
  const { ask, fake, clock } = await start(t, { items: listingTexts('old', 1) })
  await ask()
  fake.items = listingTexts('new', 1)
  clock.advance(PAST_WAIT)
  const page = await ask()
  t.deepEqual([ids(page), outcome(page)], [['new-0000'], 'miss'])
})

const UNANSWERED: readonly (readonly [reason: SourceReason, step: Behaviour])[] = [
  ['timeout', { kind: 'hang' }],
  ['timeout', { kind: 'hang_mid_body' }],
  ['connection_reset', { kind: 'reset_before_headers' }],
  ['connection_reset', { kind: 'reset_mid_body' }],
  ['connection_reset', { kind: 'end_mid_body' }],
  ['http_500', DOWN],
  ['http_503', { kind: 'status', status: 503 }],
  ['http_302', { kind: 'status', status: 302, headers: { location: '/' } }],
  ['http_404', { kind: 'status', status: 404 }],
  ['rate_limited', { kind: 'status', status: 429 }],
  ['not_json', { kind: 'body', body: '<html>' }],
  ['not_json', { kind: 'body', body: envelopeText([listingText()], 1).slice(0, -20) }],
  ['bad_envelope', { kind: 'body', body: '{"listings":[]}' }],
]

for (const [reason, step] of UNANSWERED) {
  test(`${JSON.stringify(step).slice(0, 60)}: shown stale as ${reason}, never kept`, async (t) => {
    const { fake, clock, options } = await startUpstream(t, { items: listingTexts('old', 1) })
    const cache = pageCache(clock)
    const { ask } = keepPages(t, options, { clock, cache })
    const timeoutMs = step.kind.startsWith('hang') ? 40 : 2500
    const { ask: askAgain } = keepPages(t, { ...options, timeoutMs }, { clock, cache })
    await ask()
    clock.advance(PAST_WAIT)
    fake.script = [step]
    const page = await askAgain()
    t.deepEqual(ids(page), ['old-0000'])
    t.like(page, { stale: true, reason, ageSeconds: 75, cache: { outcome: 'stale', ttlSeconds: -60 } })
    t.false(page.isCurrent?.())
    fake.script = [GOOD]
    fake.items = listingTexts('new', 1)
    t.deepEqual(ids(await ask()), ['new-0000'])
    clock.advance(PAST_DELETE)
    fake.script = [step]
    t.is((await failure(t, askAgain())).reason, reason)
  })
}

test('where the upstream says no, its no is not papered over with what it once said', async (t) => {
  for (const [reason, status] of [
    ['unauthorized', 401],
    ['unauthorized', 403],
    ['unsupported_filter', 400],
    ['http_508', 508],
  ] as const) {
    const { ask, fake, clock } = await start(t, { items: listingTexts('old', 1) })
    const query = { filters: [['gpu_model', 'H100']] } as const
    await ask(query)
    clock.advance(PAST_WAIT)
    fake.script = [{ kind: 'status', status }]
    t.is((await failure(t, ask(query))).reason, reason)
  }
})

const DIRECTIVES: readonly (readonly [string, Record<string, string>, fetched: readonly number[]])[] = [
  // How often it has been fetched after questions at 0 s, 4 s, 6 s and 14 s.
  ['nothing said', {}, [1, 1, 1, 1]],
  ['no-store', { 'cache-control': 'no-store' }, [1, 2, 3, 4]],
  ['private, in any case', { 'cache-control': 'max-age=60, Private' }, [1, 2, 3, 4]],
  ['no-cache', { 'cache-control': 'no-cache' }, [1, 2, 3, 4]],
  ['a lower max-age', { 'cache-control': 'public, max-age=5, must-revalidate' }, [1, 1, 2, 3]],
  ['a higher max-age', { 'cache-control': 'max-age=600' }, [1, 1, 1, 1]],
  ['a lower s-maxage', { 'cache-control': 'max-age=600, s-maxage=5' }, [1, 1, 2, 3]],
  ['an age of its own', { 'cache-control': 'max-age=20,must-revalidate', age: '15' }, [1, 1, 2, 3]],
  ['a max-age that is no number', { 'cache-control': 'max-age=soon' }, [1, 2, 3, 4]],
]

for (const [name, headers, fetched] of DIRECTIVES) {
  test(`what an upstream says about keeping is heeded: ${name}`, async (t) => {
    const body = envelopeText(listingTexts('a', 1), 1)
    const { ask, fake, clock } = await start(t, { script: [{ kind: 'body', body, headers }] })
    const counts: number[] = []
    for (const wait of [0, 4000, 2000, 8000]) {
      clock.advance(wait)
      await ask()
      counts.push(fake.requests.length)
    }
    t.deepEqual(counts, fetched)
  })
}

test('the age that an upstream gives counts', async (t) => {
  const body = envelopeText([], 0)
  const { ask, clock } = await start(t, { script: [{ kind: 'body', body, headers: { age: '7' } }] })
  t.is((await ask()).ageSeconds, 7)
  clock.advance(3000)
  t.is((await ask()).ageSeconds, 10)
})

test('many who ask at once cost one request, and one who hangs up fails nobody else', async (t) => {
  const held = Promise.withResolvers<void>()
  const { ask, fake, pages } = await start(t, {
    items: listingTexts('a', 1),
    script: [{ kind: 'hold', until: held.promise }],
  })
  const hangUp = new AbortController()
  const gone = new Error('gone')
  const first = ask({}, hangUp.signal)
  const others = [ask(), ask({ limit: 1 })]
  await fake.requested()
  hangUp.abort(gone)
  t.is(await t.throwsAsync(first), gone)
  held.resolve()
  for (const page of await Promise.all(others)) t.deepEqual(ids(page), ['a-0000'])
  t.is(fake.requests.length, 1)
  t.is(pages.counts.miss, 2)
})

test('an answer too late for everybody is kept all the same', async (t) => {
  const held = Promise.withResolvers<void>()
  const { ask, fake, pages } = await start(t, { script: [{ kind: 'hold', until: held.promise }] })
  const hangUp = new AbortController()
  const answer = ask({}, hangUp.signal)
  await fake.requested()
  hangUp.abort(new Error('gone'))
  await t.throwsAsync(answer, { message: 'gone' })
  held.resolve()
  await eventually(() => pages.underWay === 0)
  t.is(outcome(await ask()), 'hit')
  t.is(fake.requests.length, 1)
})

test('a reader whose budget ends is shown what is kept, and who has hung up nothing', async (t) => {
  const { ask, fake, clock } = await start(t, { items: listingTexts('old', 1) })
  await ask()
  clock.advance(PAST_WAIT)
  fake.script = [{ kind: 'hang' }]
  const merged = fanOut([sourceOf('elsewhere', [], { ask }), sourceOf('other', [])], { budgetMs: 30 })
  const answer = await merged(listingQuery(), ANONYMOUS, new AbortController().signal)
  t.is(answer.total, 1)
  t.true(answer.complete)
  t.like(answer.sources[0], { state: 'stale', age_seconds: 75 })
  t.true(answer.items[0]?.stale)
  const gone = new Error('gone')
  t.is(await t.throwsAsync(ask({}, AbortSignal.abort(gone))), gone)
})

test('no-cache asks anew, and what it brings is kept', async (t) => {
  const { ask, fake } = await start(t, { items: listingTexts('old', 1) })
  await ask()
  fake.items = listingTexts('new', 1)
  t.deepEqual(ids(await ask({ caching: 'no-cache' })), ['new-0000'])
  t.is(outcome(await ask()), 'hit')
  t.deepEqual(ids(await ask()), ['new-0000'])
  t.is(fake.requests.length, 2)
  fake.script = [DOWN]
  t.like(await ask({ caching: 'no-cache' }), { stale: true, reason: 'http_500' })
})

test('only-if-cached asks nobody: what is kept, or a timeout at once', async (t) => {
  const { ask, fake, clock } = await start(t, { items: listingTexts('a', 1) })
  t.is((await failure(t, ask({ caching: 'only-if-cached' }))).reason, 'timeout')
  await ask()
  t.is(outcome(await ask({ caching: 'only-if-cached' })), 'hit')
  clock.advance(PAST_FRESH)
  t.is(outcome(await ask({ caching: 'only-if-cached' })), 'revalidating')
  clock.advance(PAST_WAIT - PAST_FRESH)
  t.like(await ask({ caching: 'only-if-cached' }), { stale: true, ageSeconds: 75 })
  clock.advance(PAST_DELETE)
  await failure(t, ask({ caching: 'only-if-cached' }))
  t.is(fake.requests.length, 1)
})

test('refresh forgets what was said, and does not keep what is on its way', async (t) => {
  const { ask, fake, pages } = await start(t, { items: listingTexts('old', 1) })
  const page = await ask()
  t.true(page.isCurrent?.())
  pages.drop()
  t.false(page.isCurrent?.())
  const held = Promise.withResolvers<void>()
  fake.script = [{ kind: 'hold', until: held.promise }, GOOD]
  const onItsWay = ask()
  await fake.requested(2)
  pages.drop()
  fake.items = listingTexts('new', 1)
  t.deepEqual(ids(await ask()), ['new-0000'])
  held.resolve()
  await onItsWay
  t.is(outcome(await ask()), 'hit')
  t.is(fake.requests.length, 3)
})

test('what one key is shown another is not; the same key of the same Registry shares', async (t) => {
  const { fake, clock, options } = await start(t)
  const cache = pageCache(clock)
  const one = keepPages(t, { ...options, key: 'one' }, { clock, cache })
  const same = keepPages(t, { ...options, key: 'one', name: 'twin' }, { clock, cache })
  const other = keepPages(t, { ...options, key: 'other' }, { clock, cache })
  await one.ask()
  t.is(outcome(await same.ask()), 'hit')
  t.is(outcome(await other.ask()), 'miss')
  t.is(fake.requests.length, 2)
})

test('a prefix of pages of different ages is as old as the oldest', async (t) => {
  const { ask, clock, fake } = await start(t, { items: listingTexts('a', 300) })
  await ask({ limit: 100 })
  clock.advance(10_000)
  t.like(await ask({ limit: 250 }), { ageSeconds: 10, cache: { outcome: 'miss', ttlSeconds: 5 } })
  t.like(await ask({ limit: 250 }), { ageSeconds: 10, cache: { outcome: 'hit', ttlSeconds: 5 } })
  t.is(fake.requests.length, 2)
})

test('a page is current until it is no longer fresh', async (t) => {
  const { ask, clock } = await start(t, { items: listingTexts('a', 300) })
  const page = await ask({ limit: 250 })
  clock.advance(PAST_FRESH - 1)
  t.true(page.isCurrent?.())
  clock.advance(1)
  t.false(page.isCurrent?.())
})
