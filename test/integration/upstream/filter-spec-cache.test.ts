import test, { type ExecutionContext } from 'ava'
import { FilterSpecCache, SPEC_FRESH_MS, SPEC_RETRY_MS } from '../../../src/upstream/filter-spec-cache.ts'
import { createGet } from '../../../src/upstream/http/request.ts'
import { composeRequests } from '../../../src/upstream/interceptors/compose.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { type ScriptedAnswer, scriptAnswers } from '../../helpers/scripted-answers.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'
import { upstreamOptions } from '../../helpers/upstream.ts'

function answerOf(etag: string): ScriptedAnswer {
  return [200, JSON.stringify(specBody(etag, [filterOf('a')]))]
}

function open(t: ExecutionContext, first: ScriptedAnswer | Error) {
  const upstream = { answer: first }
  const { url, agent, seen } = scriptAnswers(t, () => upstream.answer)
  const clock = manualClock()
  const cache = new FilterSpecCache(
    createGet(upstreamOptions({ url, key: 'secret' }), composeRequests(agent)),
    clock,
  )
  /** Resolves when a fetch in the background has ended. */
  const settled = () => cache.refresh()
  return { upstream, seen, clock, cache, settled }
}

test('a filter spec is fetched once, with the key', async (t) => {
  const { cache, seen } = open(t, answerOf('one'))
  t.is(cache.current, null)
  await cache.loaded
  t.is(cache.current?.etag, 'one')
  t.deepEqual([...cache.current!.filters.keys()], ['a'])
  t.is(seen.length, 1)
  t.is(seen[0]?.url.pathname, '/filter-spec')
  t.is(seen[0]?.headers.authorization, 'Bearer secret')
})

test('an old filter spec is used while it is fetched again by its etag', async (t) => {
  const { upstream, cache, seen, clock, settled } = open(t, answerOf('one'))
  await cache.loaded
  const spec = cache.current
  clock.advance(SPEC_FRESH_MS - 1)
  t.is(cache.load(), null)
  t.is(seen.length, 1)
  upstream.answer = [304, '']
  clock.advance(1)
  void cache.load()
  t.is(cache.current, spec)
  await settled()
  t.is(cache.current, spec)
  t.is(seen.length, 2)
  t.is(seen[1]?.headers['if-none-match'], '"one"')
  upstream.answer = answerOf('two')
  clock.advance(SPEC_FRESH_MS)
  void cache.load()
  t.is(cache.current, spec)
  await settled()
  t.is(cache.current?.etag, 'two')
})

test('while the upstream cannot be reached, the last filter spec stays, and requests are seldom', async (t) => {
  const { upstream, cache, seen, clock, settled } = open(t, answerOf('one'))
  await cache.loaded
  const spec = cache.current
  upstream.answer = [200, '{"broken":true}']
  clock.advance(SPEC_FRESH_MS)
  void cache.load()
  await settled()
  t.is(cache.current, spec)
  const before = seen.length
  clock.advance(SPEC_RETRY_MS - 1)
  void cache.load()
  t.is(seen.length, before)
  clock.advance(1)
  void cache.load()
  await settled()
  t.true(seen.length > before)
})

test('concurrent refreshes of a filter spec share one request', async (t) => {
  const { upstream, cache, seen } = open(t, answerOf('one'))
  await cache.loaded
  upstream.answer = answerOf('two')
  await Promise.all([cache.refresh(), cache.refresh()])
  t.is(cache.current?.etag, 'two')
  t.is(seen.length, 2)
})
