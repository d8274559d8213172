import test from 'ava'
import { parseJson } from '../../src/json/value.ts'
import { joinSources, readStatuses } from '../../src/web/board/state/sources.ts'
import { readReports } from '../../src/web/common/source-report.ts'

test('sources: those of the gateway in its order, then others of the answer', (t) => {
  const statuses = readStatuses(
    parseJson(
      '{"sources":[{"registry":"b","state":"loaded","mode":"snapshot"},{"registry":"a","state":"unavailable"}]}',
    ),
  )
  const reports = readReports(
    parseJson(
      '{"sources":[{"registry":"a","state":"loaded","matched":2},{"registry":"a/far","state":"unavailable"}]}',
    ),
  )
  t.deepEqual(
    joinSources(statuses, reports).map(({ registry, state, report }) => [
      registry,
      state,
      report?.state ?? null,
    ]),
    [
      ['b', 'loaded', null],
      ['a', 'unavailable', 'loaded'],
      ['a/far', 'unavailable', 'unavailable'],
    ],
  )
})

test('sources: a malformed body gives no sources, a malformed entry gets defaults', (t) => {
  for (const body of ['null', '7', '[]', '{"sources":{}}']) {
    t.deepEqual(readStatuses(parseJson(body)), [])
    t.deepEqual(readReports(parseJson(body)), [])
  }
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
