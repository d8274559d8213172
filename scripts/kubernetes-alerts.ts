import { readFileSync, writeFileSync } from 'node:fs'

/** Writes the alerts as a resource of the Prometheus operator. */
const rules = readFileSync('deploy/prometheus/alerts.yml', 'utf8')
const groups = rules.slice(rules.indexOf('groups:\n'))
const head = `# Made by \`npm run docs\` of deploy/prometheus/alerts.yml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: entrepot
  labels: { app: entrepot }
spec:
`
writeFileSync(
  'deploy/kubernetes/monitoring/alerts.yaml',
  `${head}${groups.trimEnd().replaceAll(/^(?=.)/gm, '  ')}\n`,
)
