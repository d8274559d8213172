import test from 'ava'
import { readReports } from '../../src/client/problem-error.ts'
import { parseJson } from '../../src/json/value.ts'
import { joinSources } from '../../src/web/board/state/sources.ts'

test('sources: those of the gateway in its order, then others of the answer', (t) => {
  const statuses = ['b', 'a'].map((registry) => ({
    registry,
    mode: 'live' as const,
    visibility: 'public' as const,
    state: 'unavailable' as const,
    age_seconds: null,
    last_error: null,
    schema_id: null,
    filters: null,
    listings: null,
  }))
  const reports = readReports(
    parseJson(
      '{"sources":[{"registry":"a","state":"loaded","matched":2},{"registry":"a/far","state":"unavailable"}]}',
    ),
  )
  t.deepEqual(
    joinSources(statuses, reports).map(({ registry, report }) => [registry, report?.state ?? null]),
    [
      ['b', null],
      ['a', 'loaded'],
      ['a/far', 'unavailable'],
    ],
  )
})

test('sources: a malformed body gives no sources, a malformed entry gets defaults', (t) => {
  for (const body of ['null', '7', '[]', '{"sources":{}}']) t.deepEqual(readReports(parseJson(body)), [])
  const [odd] = readReports(parseJson('{"sources":[{"matched":"many","filters":7}]}'))
  t.deepEqual(odd, {
    registry: '?',
    state: 'unavailable',
    reason: undefined,
    filters: [],
    matched: null,
    age_seconds: undefined,
    invalid: undefined,
  })
})
