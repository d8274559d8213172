import { execFile, execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import type { Deployment } from 'kubernetes-types/apps/v1.js'
import type { Service } from 'kubernetes-types/core/v1.js'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../../src/config/config.ts'
import { findProgram } from '../../helpers/programs.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { MAKE_SECRETS } from './secrets.ts'

const run = promisify(execFile)
const BASE = 'deploy/kubernetes/base/entrepot.yaml'
const EXAMPLE = 'deploy/kubernetes/example'
const FILES = [BASE, ...globSync('deploy/kubernetes/{example,monitoring}/*.yaml').sort()]
/** Kinds that Kustomize reads, and that the API does not have. */
const OF_KUSTOMIZE = new Set(['Kustomization', 'Component'])
/** Kinds of the Prometheus operator, whose types no package here has. */
const OF_OPERATOR = new Set(['ServiceMonitor', 'PrometheusRule'])

type Manifest = { apiVersion: string; kind: string }

const readManifests = (text: string): Manifest[] =>
  parseAllDocuments(text, { strict: true }).map((document) => document.toJS())

const resources = (): Manifest[] =>
  FILES.flatMap((file) => readManifests(readFileSync(file, 'utf8'))).filter(
    ({ kind }) => kind !== undefined && !OF_KUSTOMIZE.has(kind),
  )

function manifest<Type extends Manifest>(kind: string): Type {
  return resources().find((one) => one.kind === kind) as Type
}

/** Errors of the compiler for the manifests as literals of the API's types. */
async function typeErrors(t: ExecutionContext, manifests: readonly Manifest[]): Promise<string> {
  const folder = temporaryFolder(t)
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const lines = manifests.map(({ apiVersion, kind, ...rest }, n) => {
    const api = apiVersion.includes('/') ? apiVersion : `core/${apiVersion}`
    return `import type { ${kind} as Type${n} } from 'kubernetes-types/${api.replace('.k8s.io', '')}.js'
export const one${n}: Type${n} = ${JSON.stringify({ apiVersion, kind, ...rest })}`
  })
  writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'))
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--target',
    'esnext',
    '--module',
    'nodenext',
  ]
  return run('tsc', [...options, join(folder, 'manifests.ts')]).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
}

test('kubernetes: the manifests have the types of the API, and a misspelt field has not', async (t) => {
  const manifests = resources()
  t.deepEqual(manifests.map(({ kind }) => kind).sort(), [
    'Deployment',
    'Ingress',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'PrometheusRule',
    'Service',
    'ServiceMonitor',
  ])
  const typed = manifests.filter(({ kind }) => !OF_OPERATOR.has(kind))
  const misspelt = readManifests(readFileSync(BASE, 'utf8').replace('livenessProbe', 'livenesProbe'))
  const [errors, found] = await Promise.all([typeErrors(t, typed), typeErrors(t, misspelt)])
  t.is(errors, '')
  t.regex(found, /livenesProbe/)
})

const yaml = (path: string) => parse(readFileSync(path, 'utf8'))

test('kubernetes: every named file exists, and alerts and metrics are those of Prometheus', (t) => {
  for (const folder of ['base', 'example', 'monitoring']) {
    const path = join('deploy/kubernetes', folder)
    const {
      resources: parts = [],
      components = [],
      configurations = [],
    } = yaml(join(path, 'kustomization.yaml'))
    for (const part of [...parts, ...components, ...configurations])
      t.true(existsSync(join(path, part)), part)
  }
  const rule = manifest<Manifest & { spec: object }>('PrometheusRule')
  const { groups } = yaml('deploy/prometheus/alerts.yml')
  t.deepEqual(rule.spec, { groups }, 'npm run docs')
  const { spec } = manifest<Manifest & { spec: Monitor }>('ServiceMonitor')
  const service = manifest<Service & Manifest>('Service')
  t.like(service.metadata?.labels, spec.selector.matchLabels)
  t.is(service.metadata?.labels?.[spec.jobLabel], 'entrepot', 'the job of the alerts')
  t.deepEqual(spec.endpoints[0]?.authorization.credentials, { name: 'entrepot', key: 'metrics_key' })
  t.is(spec.endpoints[0]?.port, service.spec?.ports?.[0]?.name)
})

type Monitor = {
  jobLabel: string
  selector: { matchLabels: Record<string, string> }
  endpoints: { port: string; authorization: { credentials: object } }[]
}

/** A copy of the folder with secrets, as an operator makes it. */
function copyOfExample(t: ExecutionContext): string {
  const folder = temporaryFolder(t)
  cpSync('deploy/kubernetes', folder, { recursive: true })
  execFileSync('sh', [MAKE_SECRETS, join(folder, 'example/secrets')])
  return join(folder, 'example')
}

/** What `kubectl apply --kustomize` would send, by kind. */
async function built(folder: string): Promise<Map<string, Manifest>> {
  const { stdout } = await run('kubectl', ['kustomize', folder])
  return new Map(readManifests(stdout).map((one) => [one.kind, one]))
}

test('kubernetes: a change of the gateway file or of a secret rolls the pods', async (t) => {
  const { secretGenerator } = yaml(join(EXAMPLE, 'kustomization.yaml'))
  const folder = copyOfExample(t)
  for (const file of secretGenerator[0].files) t.true(existsSync(join(folder, file)), file)
  if (findProgram({ names: ['kubectl'], package: 'kubectl' }) === null) {
    t.log('not built: kubectl is missing')
    return
  }
  const volumesOf = async () => {
    const all = await built(folder)
    const { volumes = [] } = (all.get('Deployment') as Deployment & Manifest).spec!.template.spec!
    return { all, names: volumes.map(({ configMap, secret }) => configMap?.name ?? secret?.secretName) }
  }
  const before = await volumesOf()
  const secret = before.all.get('Secret') as Manifest & { metadata: { name: string } }
  const monitor = JSON.stringify(before.all.get('ServiceMonitor'))
  t.true(monitor.includes(`"name":"${secret.metadata.name}"`), 'with its hash')
  appendFileSync(join(folder, 'gateway.toml'), '\n[cache]\nfresh_seconds = 5\n')
  const afterFile = await volumesOf()
  chmodSync(join(folder, 'secrets/store_url'), 0o644)
  writeFileSync(join(folder, 'secrets/store_url'), 'redis://other:6379\n')
  const afterSecret = await volumesOf()
  const [files, secrets] = [0, 1].map((n) => [before, afterFile, afterSecret].map(({ names }) => names[n]))
  t.is(new Set(files).size, 2)
  t.is(new Set(secrets).size, 2)
})

test('kubernetes: liveness checks only the process, readiness the replica', (t) => {
  const [container] = manifest<Deployment & Manifest>('Deployment').spec!.template.spec!.containers
  t.is(container?.livenessProbe?.httpGet?.path, '/live')
  t.is(container?.startupProbe?.httpGet?.path, '/live')
  t.is(container?.readinessProbe?.httpGet?.path, '/ready')
})

test('kubernetes: the settings are accepted without a warning, with both gates on', (t) => {
  const folder = temporaryFolder(t)
  cpSync(join(EXAMPLE, 'gateway.toml'), join(folder, 'gateway.toml'))
  for (const name of ['admin_key', 'bootstrap_key', 'metrics_key'])
    writeFileSync(join(folder, name), 'a'.repeat(64))
  writeFileSync(join(folder, 'store_url'), 'redis://redis:6379')
  const { containers, enableServiceLinks } = manifest<Deployment & Manifest>('Deployment').spec!.template
    .spec!
  const environment = Object.fromEntries(
    containers[0]!.env!.map(({ name, value }) => [
      name,
      value!.replace(/^\/(etc|run\/secrets)\/entrepot/, folder),
    ]),
  )
  // By default a container gets the address of each Service in variables.
  const links = enableServiceLinks === false ? {} : { ENTREPOT_SERVICE_HOST: '10.0.0.7' }
  const config = loadConfig({ ...environment, ...links })
  t.deepEqual(config.warnings, [])
  t.true(config.requireReadKey && config.requireWriteKey)
  t.is(config.gateway.id, 'entrepot')
  t.is(config.limits.trustedProxies.length, 1)
})
