import test from 'ava'
import type { SourceStatus } from '../../../src/domain/source/source-status.ts'
import { MAX_CHANGES, StateLog } from '../../../src/fleet/state-log.ts'

const status = (name: string, state: SourceStatus['state']) =>
  ({ name, state, lastError: state === 'loaded' ? null : { reason: 'timeout' } }) as SourceStatus

test('state log: holds the latest changes, newest first, and of one moment failures with their reason first', (t) => {
  const log = new StateLog()
  log.observe([status('a', 'stale'), status('b', 'loaded')], 0)
  t.deepEqual(log.changes, [], 'the first observation is no change')
  for (let n = 1; n <= MAX_CHANGES; n++) {
    const [a, b] = n % 2 === 1 ? (['loaded', 'stale'] as const) : (['stale', 'loaded'] as const)
    log.observe([status('a', a), status('b', b), status(`new-${n}`, 'loaded')], 1000 * n)
  }
  t.is(log.changes.length, MAX_CHANGES)
  const [failure, recovery] = log.changes
  const at = '1970-01-01T00:01:40.000Z'
  t.like(failure, { at, registry: 'a', part: 'state', from: 'loaded', to: 'stale', reason: 'timeout' })
  t.like(recovery, { at, registry: 'b', from: 'stale', to: 'loaded', reason: null })
})
