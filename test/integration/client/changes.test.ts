import test from 'ava'
import { type Change, createClient, ProblemError } from '../../../src/client/client.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import {
  ALICES,
  type FeedAnswer,
  feedAnswer,
  listingChange,
  removedChange,
  startScriptedFeed,
} from '../../helpers/scripted-feed.ts'

const [A, B] = listingTexts('a', 2).map((text) => JSON.parse(text))
const REFUSED: FeedAnswer = { status: 400, body: { detail: 'no' } }

/** Changes until the service refuses, each as a short text with its position. */
async function follow(
  url: string,
  options: Parameters<ReturnType<typeof createClient>['changes']>[1] = {},
): Promise<{ seen: string[]; failure: unknown }> {
  const seen: string[] = []
  try {
    for await (const change of createClient({ url }).changes({ gpu: 'H100' }, options))
      seen.push(inShort(change))
    return { seen, failure: null }
  } catch (failure) {
    return { seen, failure }
  }
}

function inShort(change: Change<unknown>): string {
  const what =
    change.type === 'source'
      ? `${change.source.registry} ${change.source.state}`
      : change.type === 'reset'
        ? ''
        : change.key.replace(ALICES, 'alice')
  return `${change.type} ${what} @${change.position}`
}

test('changes: waits where there are none, and goes on behind the last one of an answer', async (t) => {
  const down = { registry: 'eu', state: 'unavailable', reason: 'timeout' }
  const { url, asked } = await startScriptedFeed(t, [
    feedAnswer('p1', [], { more: true }),
    feedAnswer('p2', [listingChange(A), removedChange('b')]),
    feedAnswer('p3', [{ type: 'unknown' }, listingChange(B)], { sources: [down] }),
    REFUSED,
  ])
  const { seen, failure } = await follow(url, { since: 'p0' })
  t.deepEqual(seen, [
    'listing alice/a-0000 @p1',
    'removed alice/b @p2',
    'source eu unavailable @p2',
    'listing alice/a-0001 @p3',
  ])
  t.deepEqual(asked, [
    '/changes?since=p0&gpu=H100',
    '/changes?since=p1&gpu=H100',
    '/changes?since=p2&gpu=H100 wait=30',
    '/changes?since=p3&gpu=H100 wait=30',
  ])
  t.true(failure instanceof ProblemError)
})

test('changes: after a 410 all listings are read again, with the keys of the feed', async (t) => {
  const merged = { ...B, _meta: { registry: 'eu', publisher: ALICES } }
  const { url, asked } = await startScriptedFeed(
    t,
    [
      { status: 410, body: { detail: 'gone' } },
      feedAnswer('q1', []),
      feedAnswer('q2', [removedChange('a-0000')]),
      REFUSED,
    ],
    {
      '/listings': { items: [A, merged], count: 2, total_after_filter: 2 },
      '/publishers/1': { publisher_id: 1, identifier: ALICES },
    },
  )
  const { seen } = await follow(url, { since: 'old' })
  t.deepEqual(seen, [
    'reset  @q1',
    'listing alice/a-0000 @q1',
    'listing alice/a-0001 @q1',
    'removed alice/a-0000 @q2',
  ])
  t.deepEqual(asked.slice(1, 3), ['/changes?gpu=H100', '/changes?since=q1&gpu=H100'])
})

test('changes: a request that fails is repeated as the service asks, and nothing is skipped', async (t) => {
  const busy = { status: 503, headers: { 'retry-after': '1' }, body: { detail: 'busy' } }
  const { url, asked } = await startScriptedFeed(t, [
    feedAnswer('p1', [listingChange(A)]),
    busy,
    { ...busy, status: 429 },
    feedAnswer('p2', [listingChange(B)]),
    REFUSED,
  ])
  const retries: string[] = []
  const onRetry = ({ detail }: ProblemError, afterMs: number) => void retries.push(`${detail} ${afterMs}`)
  const { seen } = await follow(url, { since: 'p0', onRetry })
  t.deepEqual(seen, ['listing alice/a-0000 @p1', 'listing alice/a-0001 @p2'])
  t.deepEqual(retries, ['busy 1000', 'busy 1000'])
  t.is(asked.filter((path) => path.includes('since=p1')).length, 3)
})

test('changes: an abort ends a wait with its reason', async (t) => {
  const stop = new AbortController()
  const { url } = await startScriptedFeed(t, [{ status: 503, headers: { 'retry-after': '3600' }, body: {} }])
  const reason = new Error('enough')
  const { failure } = await follow(url, {
    since: 'p',
    signal: stop.signal,
    onRetry: () => stop.abort(reason),
  })
  t.is(failure, reason)
})
