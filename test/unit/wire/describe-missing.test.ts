import test from 'ava'
import { describeMissing } from '../../../src/wire/describe-missing.ts'

test('describeMissing: the text has state, reason, filters and age; a source that answered has none', (t) => {
  const a = { registry: 'a', state: 'unavailable' }
  const skipped = { registry: 'a', state: 'skipped', reason: 'unsupported_filter', filters: ['colour'] }
  for (const [source, words] of [
    [{ registry: 'a', state: 'loaded' }, null],
    [{ registry: 'a', state: 'stale', reason: 'timeout' }, null],
    [{ ...a, reason: 'http_502' }, 'a is unavailable: it answered with status 502 (http_502)'],
    [skipped, 'a was skipped: it does not support a filter of the query: colour (unsupported_filter)'],
    [{ registry: 'a', state: 'not_yet_loaded' }, 'a is not loaded yet'],
    [
      { ...a, reason: 'timeout', age_seconds: 120 },
      'a is unavailable: it did not answer in time (timeout), and its listings shown here are 2 min old',
    ],
    [{ ...a, reason: 'novel' }, 'a is unavailable: it failed with novel (novel)'],
    [{ registry: 'eu/*', state: 'unavailable' }, 'eu reports that its own answer is incomplete'],
  ] as const)
    t.is(describeMissing(source), words)
})
