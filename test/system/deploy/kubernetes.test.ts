import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import test, { type ExecutionContext } from 'ava'
import type { Deployment } from 'kubernetes-types/apps/v1.js'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../../src/config/config.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'

const run = promisify(execFile)
const FILE = 'deploy/kubernetes/entrepot.yaml'

type Manifest = { apiVersion: string; kind: string }

const readManifests = (text = readFileSync(FILE, 'utf8')): Manifest[] =>
  parseAllDocuments(text, { strict: true }).map((document) => document.toJS())

function manifest<Type extends Manifest>(kind: string): Type {
  return readManifests().find((one) => one.kind === kind) as Type
}

/** Errors of the compiler for the manifests as literals of the API's types. */
async function typeErrors(t: ExecutionContext, manifests: readonly Manifest[]): Promise<string> {
  const folder = temporaryFolder(t)
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const lines = manifests.map(({ apiVersion, kind, ...rest }, n) => {
    const api = apiVersion.includes('/') ? apiVersion : `core/${apiVersion}`
    return `import type { ${kind} as Type${n} } from 'kubernetes-types/${api}.js'
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
  const manifests = readManifests()
  t.deepEqual(
    manifests.map(({ kind }) => kind),
    ['ConfigMap', 'Deployment', 'Service', 'PodDisruptionBudget'],
  )
  const misspelt = readManifests(readFileSync(FILE, 'utf8').replace('livenessProbe', 'livenesProbe'))
  const [errors, found] = await Promise.all([typeErrors(t, manifests), typeErrors(t, misspelt)])
  t.is(errors, '')
  t.regex(found, /livenesProbe/)
})

test('kubernetes: liveness checks only the process, readiness the replica', (t) => {
  const [container] = manifest<Deployment & Manifest>('Deployment').spec!.template.spec!.containers
  t.is(container?.livenessProbe?.httpGet?.path, '/live')
  t.is(container?.startupProbe?.httpGet?.path, '/live')
  t.is(container?.readinessProbe?.httpGet?.path, '/ready')
})

test('kubernetes: the settings are accepted without a warning, with both gates on', (t) => {
  const folder = temporaryFolder(t)
  const { data } = manifest<Manifest & { data: Record<string, string> }>('ConfigMap')
  writeFileSync(join(folder, 'gateway.toml'), data['gateway.toml']!)
  for (const name of ['admin_key', 'bootstrap_key']) writeFileSync(join(folder, name), 'a'.repeat(64))
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
