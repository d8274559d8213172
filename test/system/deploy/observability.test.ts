import { readFileSync } from 'node:fs'
import test from 'ava'
import { parse } from 'yaml'
import { TRUSTED, trustOurAuthority } from '../../helpers/certificates.ts'
import { eventually } from '../../helpers/eventually.ts'
import { deadUrl, listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { startScriptedEntrepot } from '../../helpers/scripted-entrepot.ts'
import { rowsOf } from '../ops/operations-page.ts'

type Group = { rules: { alert: string; expr: string }[] }
type Panel = { targets?: { expr: string }[] }

const { groups } = parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8')) as { groups: Group[] }
const alerts = groups.flatMap(({ rules }) => rules)
const { panels, templating } = JSON.parse(readFileSync('deploy/grafana/dashboards/entrepot.json', 'utf8'))
const shown: string[] = [
  ...panels.flatMap(({ targets = [] }: Panel) => targets.map(({ expr }) => expr)),
  ...templating.list.map(({ definition }: { definition: string }) => definition),
]

const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word!)

/** Every name of ours, and of Node's process, has an underscore, as two functions of PromQL and Grafana have. */
const metricsIn = (expression: string): string[] =>
  (
    expression.replaceAll(/"[^"]*"|\{[^}]*\}|\b(?:by|on|without)\s*\([^)]*\)/g, ' ').match(/\b[a-z]+_\w+/g) ??
    []
  ).filter((name) => name !== 'histogram_quantile' && name !== 'label_values')

/** The labels that an expression selects or groups by. */
const labelsIn = (expression: string): string[] => [
  ...[...expression.matchAll(/[{,]\s*(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!),
  ...[...expression.matchAll(/\b(?:by|on|without)\s*\(([^)]*)\)/g)].flatMap(([, labels]) =>
    labels!.split(/\s*,\s*/),
  ),
]

test('observability: alerts, dashboard and docs/operations.md have the metrics and labels of /metrics', async (t) => {
  trustOurAuthority()
  const items = [...listingTexts('a', 3), listingText({ listing_id: 7 })]
  const fake = await startFake(t, { certificate: TRUSTED, items })
  const followed = await startScriptedEntrepot(t, [500, ': idle\n\n'])
  const upstreams = [
    { name: 'a', url: fake.url },
    { name: 'dead', url: deadUrl() },
    { name: 'followed', url: followed.url },
  ]
  const { get } = await startGateway(t, upstreams, { environment: { METRICS_PUBLIC: 'true' } })
  await get('/listings')
  await get('/listings')
  const text = await eventually(
    'followed',
    async () => (await get('/metrics')).text,
    (metrics) => metrics.includes('_behind_seconds{'),
  )
  const lines = [...text.matchAll(/^(\w+)(?:\{([^}]*)\})? \S+$/gm)]
  const series = new Set(lines.map(([, name]) => name!))
  const labels = new Set(
    lines.flatMap(([, , list = '']) => [...list.matchAll(/(\w+)="/g)].map(([, label]) => label!)),
  )
  for (const label of ['job', 'instance', 'le']) labels.add(label)

  const expressions = [...alerts.map(({ expr }) => expr), ...shown]
  t.deepEqual(new Set(expressions.flatMap(metricsIn)).difference(series), new Set(), 'read, and not there')
  t.deepEqual(new Set(expressions.flatMap(labelsIn)).difference(labels), new Set())
  t.deepEqual(series.difference(new Set(shown.flatMap(metricsIn))), new Set(), 'not on the dashboard')

  const named = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
  t.deepEqual(
    rowsOf('metric')
      .flatMap(quoted)
      .map((row) => row.split('{', 1)[0]!)
      .sort(),
    named.sort(),
  )
  t.deepEqual(rowsOf('alert').flatMap(quoted).sort(), alerts.map(({ alert }) => alert).sort())
})
