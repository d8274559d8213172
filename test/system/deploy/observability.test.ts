import { globSync, readFileSync } from 'node:fs'
import test from 'ava'
import { parse } from 'yaml'
import { TRUSTED, trustOurAuthority } from '../../helpers/certificates.ts'
import { eventually } from '../../helpers/eventually.ts'
import { deadUrl, listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { startScriptedEntrepot } from '../../helpers/scripted-entrepot.ts'
import { namesIn, readComposeFile } from './compose-file.ts'
import { labelsIn, metricsIn, promtool, seriesIn } from './metric-names.ts'

type Rule = { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string } }
type Panel = { type: string; title: string; targets?: { expr: string }[]; datasource?: { uid: string } }

const yaml = (path: string) => parse(readFileSync(path, 'utf8'))
const rules: Rule[] = yaml('deploy/prometheus/alerts.yml').groups.flatMap(
  ({ rules }: { rules: Rule[] }) => rules,
)
const dashboard = JSON.parse(readFileSync('deploy/grafana/dashboards/entrepot.json', 'utf8'))
const panels: Panel[] = dashboard.panels.filter(({ type }: Panel) => type !== 'row')
const shown = [
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.templating.list.map(({ definition }: { definition: string }) => definition),
]
/** Made by Prometheus itself. */
const ITS_OWN = new Set(['up', 'ALERTS'])
const ITS_LABELS = new Set(['job', 'instance', 'le'])

/** `/metrics` of a gateway that has seen an answer, a failure, an invalid listing, and a stream of changes that broke off. */
const exposition = test.macro({
  exec: async (t, check: (series: Map<string, Set<string>>) => string[]) => {
    trustOurAuthority()
    const fake = await startFake(t, {
      certificate: TRUSTED,
      items: [...listingTexts('a', 3), listingText({ listing_id: 7 })],
    })
    const followed = await startScriptedEntrepot(t, [500, ': idle\n\n'])
    const { get } = await startGateway(
      t,
      [
        { name: 'a', url: fake.url },
        { name: 'dead', url: deadUrl() },
        { name: 'followed', url: followed.url, settings: 'mode = "snapshot"' },
      ],
      { environment: { METRICS_PUBLIC: 'true' } },
    )
    await get('/listings')
    await get('/listings')
    const read = async () => (await get('/metrics')).text
    const text = await eventually('followed', read, (metrics) => metrics.includes('_behind_seconds{'))
    t.deepEqual(check(seriesIn(text)), [])
  },
  title: (title) => title ?? '',
})

test('observability: alerts and panels read existing metrics and labels', exposition, (series) => {
  const labels = new Set([...series.values()].flatMap((names) => [...names]))
  return [...rules.map(({ expr }) => expr), ...shown].flatMap((expression) => [
    ...metricsIn(expression).filter((name) => !series.has(name) && !ITS_OWN.has(name)),
    ...labelsIn(expression).filter((name) => !labels.has(name) && !ITS_LABELS.has(name)),
  ])
})

test('observability: the dashboard shows every metric', exposition, (series) => {
  const read = new Set(shown.flatMap(metricsIn))
  return [...series.keys()].filter((name) => !read.has(name))
})

test('observability: the expression check finds unknown metrics', (t) => {
  const wrong =
    'sum by (instance, lable) (rate(entrepot_request_total{job="entrepot",rout!="/health"}[5m])) > 0.05'
  t.deepEqual(metricsIn(wrong), ['entrepot_request_total'])
  t.deepEqual(labelsIn(wrong), ['job', 'rout', 'instance', 'lable'])
})

test('observability: Prometheus scrapes every gateway with a key file, and has the alerts', (t) => {
  const file = readComposeFile()
  const { scrape_configs, rule_files } = yaml('deploy/prometheus/prometheus.yml')
  const [{ authorization, static_configs }] = scrape_configs
  t.deepEqual(authorization, { type: 'Bearer', credentials_file: '/run/secrets/metrics_key' })
  t.true(file.services.prometheus?.secrets?.includes('metrics_key'))
  const gateways = Object.keys(file.services).filter((name) => name.startsWith('gateway-'))
  t.deepEqual(static_configs[0].targets.sort(), gateways.map((name) => `${name}:8080`).sort())
  for (const name of gateways)
    t.true(
      namesIn(file.services[name]!.networks).some((one) =>
        namesIn(file.services.prometheus!.networks).includes(one),
      ),
    )
  t.deepEqual(rule_files, ['/etc/prometheus/alerts.yml'])
  t.is(promtool('check', 'rules', 'deploy/prometheus/alerts.yml') ?? '', '')
  t.is(promtool('check', 'config', '--syntax-only', 'deploy/prometheus/prometheus.yml') ?? '', '')
})

test('observability: alerts have unique names, summaries and severities', (t) => {
  t.true(rules.length > 8)
  t.is(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  for (const { alert, labels, annotations } of rules) {
    t.regex(labels.severity, /^(info|warning|critical)$/, alert)
    t.truthy(annotations.summary, alert)
  }
})

test('observability: Grafana has the dashboard and the data source of every panel', (t) => {
  const [source] = yaml('deploy/grafana/provisioning/datasources/prometheus.yml').datasources
  const [provider] = yaml('deploy/grafana/provisioning/dashboards/entrepot.yml').providers
  const { grafana, prometheus } = readComposeFile().services
  t.is(source.url, 'http://prometheus:9090')
  t.true(namesIn(prometheus!.networks).includes(namesIn(grafana!.networks)[0]!))
  const mounted = grafana!.volumes!.find(({ target }) => target === provider.options.path)
  t.deepEqual(globSync(`${mounted?.source}/*.json`).length, 1)
  t.is(
    grafana!.environment?.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH,
    `${provider.options.path}/entrepot.json`,
  )
  for (const { title, datasource } of panels) t.is(datasource?.uid, source.uid, title)
  const ids = dashboard.panels.map(({ id }: { id: number }) => id)
  t.is(new Set(ids).size, ids.length)
})
