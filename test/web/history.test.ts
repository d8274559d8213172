import test from 'ava'
import { addPoll, MAX_SAMPLES, NO_HISTORY } from '../../src/web/operator/history.ts'
import type { SourceDetailsJson } from '../../src/wire/source.ts'

const source = (
  registry: string,
  ended: number,
  elapsedMs: number,
  hits = 0,
  misses = 0,
): SourceDetailsJson => ({
  registry,
  mode: 'live',
  visibility: 'public',
  state: 'loaded',
  age_seconds: 0,
  last_error: null,
  listings: null,
  schema_id: null,
  filters: null,
  cache: { fresh: hits, stale: 0, miss: misses, bytes: 0 },
  calls: { made: ended, failed: 0, retried: 0, failures_by_reason: {}, ended, elapsed_ms: elapsedMs },
})

const samplesOf = (...polls: SourceDetailsJson[][]) =>
  polls.reduce((history, poll) => addPoll(history, poll), NO_HISTORY).samples

test('poll history: a sample is the difference of two polls', (t) => {
  const samples = samplesOf(
    [source('a', 10, 1000, 5, 5)],
    [source('a', 14, 1200, 8, 6)],
    [source('a', 14, 1200, 8, 6)],
  )
  t.deepEqual(samples.get('a'), [
    { latencyMs: 50, hitRate: 0.75 },
    { latencyMs: null, hitRate: null },
  ])
})

test('poll history: counts that fall, as after a restart, give no sample', (t) => {
  t.deepEqual(samplesOf([source('a', 10, 1000)], [source('a', 2, 40)]).get('a'), [
    { latencyMs: null, hitRate: null },
  ])
})

test('poll history: drops removed sources and starts new ones', (t) => {
  const samples = samplesOf([source('a', 1, 1)], [source('b', 1, 1)], [source('b', 2, 3)])
  t.deepEqual([...samples.keys()], ['b'])
  t.deepEqual(samples.get('b'), [{ latencyMs: 2, hitRate: null }])
})

test('poll history: holds as many samples as are drawn', (t) => {
  const polls = Array.from({ length: MAX_SAMPLES + 20 }, (_, n) => [source('a', n, n)])
  t.is(samplesOf(...polls).get('a')?.length, MAX_SAMPLES)
})
