import test from 'ava'
import type { SourceStatus } from '../../../src/domain/source/source-status.ts'
import { MAX_CHANGES, StateLog } from '../../../src/fleet/state-log.ts'

const status = (name: string, state: SourceStatus['state']): SourceStatus => ({
  name,
  visibility: 'public',
  state,
  ageSeconds: null,
  lastError: state === 'loaded' ? null : { reason: 'timeout', at: 0, detail: '' },
  schemaId: null,
  filters: null,
  listings: null,
})

test('state log: holds the latest changes, newest first, with the reason of a failure', (t) => {
  const log = new StateLog()
  log.observe([status('a', 'loaded')], 0)
  t.deepEqual(log.changes, [], 'the first observation is no change')
  for (let n = 1; n <= 3 * MAX_CHANGES; n++)
    log.observe([status('a', n % 2 === 0 ? 'loaded' : 'stale'), status(`new-${n}`, 'loaded')], 1000 * n)
  t.is(log.changes.length, MAX_CHANGES)
  const [newest, before] = log.changes
  t.like(newest, { at: '1970-01-01T00:05:00.000Z', registry: 'a', from: 'stale', to: 'loaded', reason: null })
  t.like(before, { registry: 'a', part: 'state', from: 'loaded', to: 'stale', reason: 'timeout' })
})

test('state log: failures of one moment come before recoveries', (t) => {
  const log = new StateLog()
  log.observe([status('a', 'stale'), status('b', 'loaded')], 0)
  log.observe([status('a', 'loaded'), status('b', 'unavailable')], 1000)
  t.deepEqual(
    log.changes.map(({ registry }) => registry),
    ['b', 'a'],
  )
})
