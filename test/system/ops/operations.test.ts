import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import test from 'ava'
import { parse } from 'yaml'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { seriesIn } from '../deploy/metric-names.ts'
import { PAGE, rowsOf } from './operations-page.ts'

const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word!)

test('docs/operations.md: its metrics and their labels are those of /metrics', async (t) => {
  const fake = await startFake(t)
  const { get } = await startGateway(t, [{ name: 'a', url: fake.url }], {
    environment: { METRICS_PUBLIC: 'true' },
  })
  await get('/listings')
  const { text } = await get('/metrics')
  const named = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
  const series = seriesIn(text)
  const rows = rowsOf('metric').flatMap(quoted)
  t.deepEqual(rows.map((row) => row.split('{', 1)[0]!).sort(), named.sort())
  for (const row of rows) {
    const [name = '', inBraces = ''] = row.split(/[{}]/)
    const described = inBraces === '' ? [] : inBraces.split(',').sort()
    // A metric without series yet shows no labels.
    const shown = series.get(name) ?? series.get(`${name}_count`)
    if (shown !== undefined) t.deepEqual(described, [...shown].sort(), name)
  }
})

test('docs/operations.md: its alerts are those of the rules', (t) => {
  const { groups } = parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8'))
  const alerts = groups.flatMap(({ rules }: { rules: { alert: string }[] }) =>
    rules.map(({ alert }) => alert),
  )
  t.deepEqual(rowsOf('alert').flatMap(quoted).sort(), alerts.sort())
})

test('docs/operations.md: its sizing names existing benchmarks', (t) => {
  const benchmarks = readFileSync('docs/benchmarks.md', 'utf8')
  const sizing = PAGE.slice(PAGE.indexOf('## How large'), PAGE.indexOf('## Reload'))
  const named = ['index', 'load', 'read', 'publish', 'mixed', 'gateway-hot', 'gateway-cold', 'gateway-dead']
  for (const name of named) {
    t.true(sizing.includes(`\`${name}\``), name)
    t.true(benchmarks.includes(`| \`${name}\` |`), name)
  }
  for (const row of ['listing ', 'resident memory', 'listings/s']) {
    t.true(sizing.includes(`\`${row.trim()}\``), row)
    t.true(benchmarks.includes(row), row)
  }
})

test('bench: a benchmark without its programs is skipped with a line', (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bench/bench.ts', 'mixed'], {
    encoding: 'utf8',
    env: { PATH: '/nowhere' },
  })
  t.deepEqual([status, stderr], [0, ''])
  t.regex(stdout, /^mixed: .*\n\nskipped: needs wrk \(apt-get install wrk\)$/m)
})
