import test from 'ava'
import { describeMissing } from '../../../src/wire/describe-missing.ts'

test('describeMissing: a source that answered, fresh or stale, is not missing', (t) => {
  t.is(describeMissing({ registry: 'a', state: 'loaded' }), null)
  t.is(describeMissing({ registry: 'a', state: 'stale', reason: 'timeout' }), null)
})

test('describeMissing: the text has state, reason, filters and age', (t) => {
  t.is(
    describeMissing({ registry: 'a', state: 'unavailable', reason: 'http_502' }),
    'a is unavailable: it answered with status 502 (http_502)',
  )
  t.is(
    describeMissing({ registry: 'a', state: 'skipped', reason: 'unsupported_filter', filters: ['colour'] }),
    'a was skipped: it does not support a filter of the query: colour (unsupported_filter)',
  )
  t.is(describeMissing({ registry: 'a', state: 'not_yet_loaded' }), 'a is not loaded yet')
  t.is(
    describeMissing({ registry: 'eu/b', state: 'unavailable', reason: 'timeout', age_seconds: 120 }),
    'eu/b is unavailable: it did not answer in time (timeout), and its listings shown here are 2 min old',
  )
  t.is(
    describeMissing({ registry: 'a', state: 'unavailable', reason: 'novel' }),
    'a is unavailable: it failed with novel (novel)',
  )
})

test('describeMissing: an unnamed source is described by its gateway', (t) => {
  t.is(
    describeMissing({ registry: 'eu/*', state: 'unavailable' }),
    'eu reports that its own answer is incomplete',
  )
})
