import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../../src/config/config.ts'
import { addressOf, readComposeFile } from './compose-file.ts'
import { makeSecrets } from './secrets.ts'

type Settings = Readonly<Record<string, string>>

/** The configuration of a container: `places` are folders of the container with those of the repository instead. */
function configOf(t: ExecutionContext, environment: Settings, places: Settings) {
  const secrets = makeSecrets(t)
  const here = (text: string): string =>
    Object.entries({ ...places, '/run/secrets/entrepot': secrets, '/run/secrets': secrets }).reduce(
      (rest, [there, folder]) => rest.replaceAll(there, folder),
      text,
    )
  const settings = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, here(value)]))
  const toml = join(secrets, 'gateway.toml')
  writeFileSync(toml, here(readFileSync(settings.ENTREPOT_CONFIG!, 'utf8')))
  return loadConfig({ ...settings, ENTREPOT_CONFIG: toml })
}

const COMPOSE = { '/etc/entrepot': 'deploy/config' }

const GATEWAYS: readonly [file: string, upstreams: readonly string[], warned: readonly string[]][] = [
  ['gateway.toml', [], []],
  ['demo.toml', ['open-market', 'curated', 'co-located'], ['upstreams[1].priority (curated)']],
]

for (const [name, upstreams, warned] of GATEWAYS)
  test(`Compose: gateways with ${name} have both gates on, trust the proxy, and leave Redis half its memory`, (t) => {
    const file = readComposeFile({ GATEWAY_FILE: name })
    const { command = [] } = file.services.redis!
    const memory = parseInt(command[command.indexOf('--maxmemory') + 1]!, 10) * 1024 * 1024
    for (const gateway of ['gateway-1', 'gateway-2']) {
      const config = configOf(t, file.services[gateway]!.environment!, COMPOSE)
      t.deepEqual(
        config.warnings.map(({ path }) => path),
        warned,
      )
      t.true(config.requireReadKey && config.requireWriteKey && !config.metricsPublic)
      for (const key of [config.adminKey, config.bootstrapKey, config.metricsKey])
        t.regex(key!, /^[0-9a-f]{64}$/)
      t.deepEqual(config.limits.trustedProxies, [`${addressOf(file, 'proxy', 'front')}/32`])
      t.deepEqual(
        config.upstreams.map(({ url }) => url),
        upstreams.map((registry) => `http://${registry}:8080`),
      )
      t.true(config.cache.maxBytes <= memory / 2)
    }
  })

test('Compose: the curated Registry is gated, the others are open', (t) => {
  const { services } = readComposeFile()
  for (const name of ['open-market', 'curated', 'co-located']) {
    const config = configOf(t, services[name]!.environment!, COMPOSE)
    t.deepEqual([config.requireReadKey, config.requireWriteKey], Array(2).fill(name === 'curated'), name)
  }
})

test('kubernetes: the settings are accepted without a warning, with both gates on', (t) => {
  const [deployment] = parseAllDocuments(readFileSync('deploy/kubernetes/base/entrepot.yaml', 'utf8'))
  const [{ env }] = deployment!.toJS().spec.template.spec.containers
  const environment = Object.fromEntries(env.map(({ name, value }: Settings) => [name, value]))
  const config = configOf(t, environment, { '/etc/entrepot': 'deploy/kubernetes/example' })
  t.deepEqual(config.warnings, [])
  t.true(config.requireReadKey && config.requireWriteKey)
  t.is(config.limits.trustedProxies.length, 1)
})
