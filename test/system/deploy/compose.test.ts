import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import test from 'ava'
import { DCLinter } from 'dclint'
import { Redis } from 'ioredis'
import { loadConfig } from '../../../src/config/config.ts'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { addressOf, COMPOSE_FILE, type ComposeService, namesIn, readComposeFile } from './compose-file.ts'
import { MAKE_SECRETS, makeSecrets } from './secrets.ts'

/** The rules of dclint with the schema of the Compose specification, without two rules on the order of keys. */
const linter = new DCLinter({
  rules: {
    'service-keys-order': 0,
    'top-level-properties-order': 0,
    'require-quotes-in-ports': [2, { quoteType: 'double' }],
  },
  quiet: false,
  debug: false,
  exclude: [],
})

const lint = (path: string): string[] =>
  linter
    .lintFiles([path], false)
    .flatMap(({ messages }: Linted) => messages.map(({ rule, message }) => `${rule}: ${message}`))

type Linted = { messages: { rule: string; message: string }[] }

const file = readComposeFile()
const services = Object.entries(file.services)
const demoFile = readComposeFile({ GATEWAY_FILE: 'demo.toml' })

test('Compose: the linter and the Compose schema find nothing, and a wrong key', (t) => {
  t.deepEqual(lint(COMPOSE_FILE), [])
  const wrong = readFileSync(COMPOSE_FILE, 'utf8').replace('healthcheck:', 'health_check:')
  t.regex(lint(temporaryFile(t, 'docker-compose.yml', wrong)).join(), /invalid-schema/)
})

test('Compose: every named network, volume, secret, service and file exists', (t) => {
  for (const [name, service] of services) {
    for (const network of namesIn(service.networks)) t.true(network in file.networks, `${name}: ${network}`)
    for (const secret of service.secrets ?? []) t.true(secret in file.secrets, `${name}: ${secret}`)
    for (const other of namesIn(service.depends_on)) t.true(other in file.services, `${name}: ${other}`)
    for (const { type, source } of service.volumes ?? []) {
      if (type === 'volume') t.true(source in file.volumes, `${name}: ${source}`)
      else t.true(existsSync(source), `${name}: ${source}`)
    }
  }
})

test('Compose: its head names every variable, those of deploy/demo.env included', (t) => {
  const [head = '', ...rest] = readFileSync(COMPOSE_FILE, 'utf8').split(/^name: /m)
  const taken = new Set([...rest.join().matchAll(/\$\{(\w+)/g)].map(([, name]) => name!))
  t.true(taken.size > 6)
  for (const name of taken) t.true(head.includes(name), name)
  const demo = parseEnv(readFileSync('deploy/demo.env', 'utf8'))
  const { COMPOSE_PROFILES = '', ...variables } = demo
  for (const name of Object.keys(variables)) t.true(taken.has(name), name)
  const profiles = new Set(services.flatMap(([, service]) => service.profiles ?? []))
  t.deepEqual(new Set(COMPOSE_PROFILES.split(',')), profiles)
  t.true(existsSync(join('deploy/config', demo.GATEWAY_FILE ?? '')))
})

test('Compose: a service that others wait for has a health check', (t) => {
  const waits = services.flatMap(([, { depends_on = {} }]) =>
    Object.entries(depends_on as Record<string, { condition?: string }>)
      .filter(([, { condition }]) => condition === 'service_healthy')
      .map(([name]) => name),
  )
  t.true(waits.length > 4)
  for (const name of waits) {
    const { healthcheck, build } = file.services[name]!
    t.true(
      healthcheck !== undefined || build?.target === 'runtime',
      `${name}: the image has a check of its own`,
    )
  }
})

test('Compose: containers have a read-only root, no capabilities and limits', (t) => {
  for (const [name, service] of services) {
    t.true(service.read_only, name)
    t.deepEqual(service.cap_drop, ['ALL'], name)
    t.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
    t.truthy(service.mem_limit, name)
    t.truthy(service.pids_limit, name)
    t.notRegex(service.user ?? '', /^(0|root)\b/, name)
    t.regex(service.image ?? '', /:[\w.-]*\d/, `${name} has a tag with a number`)
    const risky = ['privileged', 'network_mode', 'pid', 'ipc', 'userns_mode', 'devices', 'cap_add']
    t.deepEqual(
      risky.filter((key) => key in service),
      [],
      name,
    )
    for (const { type, read_only } of service.volumes ?? []) if (type === 'bind') t.true(read_only, name)
  }
})

test('Compose: ports bind to 127.0.0.1; Redis and the Registries have no outbound route', (t) => {
  const ports = services.flatMap(([, service]) => service.ports ?? [])
  t.deepEqual(ports.sort(), ['127.0.0.1:3000:3000', '127.0.0.1:8080:8080', '127.0.0.1:9090:9090'])
  for (const name of ['redis', 'open-market', 'curated', 'co-located', 'seed'])
    for (const network of namesIn(file.services[name]!.networks))
      t.true(file.networks[network]?.internal, name)
})

test('Compose: Redis, two gateways and the proxy; profiles add the rest', (t) => {
  const inProfile = (profile: string | undefined): string[] =>
    services.filter(([, { profiles }]) => profiles?.[0] === profile).map(([name]) => name)
  t.deepEqual(inProfile(undefined).sort(), ['gateway-1', 'gateway-2', 'proxy', 'redis'])
  t.deepEqual(inProfile('demo').sort(), ['co-located', 'curated', 'open-market', 'seed'])
  t.deepEqual(inProfile('observability').sort(), ['grafana', 'prometheus'])
})

test('Compose: dynamic addresses never collide with fixed ones', (t) => {
  const [subnet] = file.networks.front!.ipam!.config
  t.is(subnet?.ip_range, '192.168.250.128/25')
  for (const name of ['proxy', 'gateway-1', 'gateway-2'])
    t.true(Number(addressOf(file, name, 'front').split('.')[3]) < 128, name)
})

/** A service's environment with paths of this machine instead of the container's. */
const environmentHere = ({ environment = {} }: ComposeService, secrets: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replace('/run/secrets', secrets).replace('/etc/entrepot', 'deploy/config'),
    ]),
  )

test('Compose: the file holds no secret; each service mounts only its own', (t) => {
  const needs = Object.fromEntries(services.map(([name, { secrets = [] }]) => [name, [...secrets].sort()]))
  const gateway = ['admin_key', 'bootstrap_key', 'curated_key', 'metrics_key', 'store_url']
  t.deepEqual(needs, {
    'co-located': [],
    curated: ['curated_key'],
    'gateway-1': gateway,
    'gateway-2': gateway,
    grafana: ['grafana_password'],
    'open-market': [],
    prometheus: ['metrics_key'],
    proxy: [],
    redis: ['redis.conf'],
    seed: ['curated_key'],
  })
  for (const [name, { environment = {} }] of services)
    for (const [variable, value] of Object.entries(environment))
      if (/KEY|PASSWORD|TOKEN|SECRET/.test(variable) && !/REQUIRE/.test(variable))
        t.regex(value, /^\/run\/secrets\//, `${name}: ${variable}`)
})

for (const [what, composed] of Object.entries({ 'gateway.toml': file, 'demo.toml': demoFile }))
  test(`Compose: gateway settings with ${what} are valid, gated, and trust the proxy`, (t) => {
    const secrets = makeSecrets(t)
    const toml = join(secrets, 'gateway.toml')
    writeFileSync(toml, readFileSync(join('deploy/config', what), 'utf8').replaceAll('/run/secrets', secrets))
    for (const name of ['gateway-1', 'gateway-2']) {
      const environment = environmentHere(composed.services[name]!, secrets)
      t.is(environment.ENTREPOT_CONFIG, `deploy/config/${what}`)
      const config = loadConfig({ ...environment, ENTREPOT_CONFIG: toml })
      t.true(config.requireReadKey && config.requireWriteKey)
      t.is(config.storeUrl, readFileSync(join(secrets, 'store_url'), 'utf8').trim())
      t.regex(config.adminKey ?? '', /^[0-9a-f]{64}$/)
      t.regex(config.bootstrapKey ?? '', /^[0-9a-f]{64}$/)
      t.regex(config.metricsKey ?? '', /^[0-9a-f]{64}$/)
      t.false(config.metricsPublic)
      t.deepEqual(config.limits.trustedProxies, [`${addressOf(composed, 'proxy', 'front')}/32`])
      t.deepEqual(
        config.upstreams.map(({ name, url }) => `${name} ${url}`),
        what === 'gateway.toml'
          ? []
          : ['open-market', 'curated', 'co-located'].map((registry) => `${registry} http://${registry}:8080`),
      )
    }
  })

test('Compose: snapshots of upstreams leave half of Redis to the store', (t) => {
  const [, mebibytes] = /^(\d+)mb$/.exec(settings().maxmemory ?? '') ?? []
  for (const name of ['gateway.toml', 'demo.toml']) {
    const secrets = makeSecrets(t)
    const toml = readFileSync(join('deploy/config', name), 'utf8').replaceAll('/run/secrets', secrets)
    const { cache } = loadConfig({ ENTREPOT_CONFIG: temporaryFile(t, name, toml) })
    t.true(cache.maxBytes <= (Number(mebibytes) * 1024 * 1024) / 2, name)
  }
})

test('Compose: settings of the Registries are valid, the curated one is gated', (t) => {
  const secrets = makeSecrets(t)
  const settings = (name: string) => loadConfig(environmentHere(file.services[name]!, secrets))
  t.true(settings('curated').requireReadKey && settings('curated').requireWriteKey)
  t.false(settings('open-market').requireReadKey)
  t.false(settings('co-located').requireReadKey)
})

test('Compose: every variable of our containers is in docs/settings.md', (t) => {
  const settings = readFileSync('docs/settings.md', 'utf8')
  for (const [name, { build, environment = {} }] of services)
    if (build?.target === 'runtime')
      for (const variable of Object.keys(environment))
        t.true(settings.includes(`\`${variable.replace(/_FILE$/, '')}\``), `${name}: ${variable}`)
})

const read = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8').trim()]),
  )

const again = (folder: string): string => execFileSync('sh', [MAKE_SECRETS, folder], { encoding: 'utf8' })

test('make-secrets: 32 random bytes for each named secret, in a folder for its owner only', (t) => {
  const folder = makeSecrets(t)
  for (const [name, { file: path }] of Object.entries(file.secrets)) {
    t.is(path, `./deploy/secrets/${name}`)
    t.true(existsSync(join(folder, name)), name)
  }
  t.is(statSync(folder).mode & 0o777, 0o700)
  const { 'redis.conf': settings, store_url: url, ...random } = read(folder)
  for (const [name, secret] of Object.entries(random)) t.regex(secret, /^[0-9a-f]{64}$/, name)
  t.is(new Set(Object.values(random)).size, 6)
  t.is(settings, `requirepass ${random.redis_password}`)
  t.is(url, `redis://:${random.redis_password}@redis:6379`)
  const other = read(makeSecrets(t))
  for (const [name, secret] of Object.entries(random)) t.not(secret, other[name], name)
})

test('make-secrets: a second run changes nothing, prints no secret, and makes what is missing', (t) => {
  const folder = makeSecrets(t)
  const before = read(folder)
  chmodSync(folder, 0o755)
  const output = again(folder)
  t.deepEqual(read(folder), before)
  t.is(statSync(folder).mode & 0o777, 0o700, 'but the folder is shut again')
  for (const secret of Object.values(before)) t.false(output.includes(secret))
  for (const name of ['curated_key', 'store_url']) rmSync(join(folder, name))
  again(folder)
  const after = read(folder)
  t.not(after.curated_key, before.curated_key)
  t.deepEqual({ ...after, curated_key: '' }, { ...before, curated_key: '' })
})

const run = promisify(execFile)

/** The options of Compose's `redis`, without file and folder. */
function settings(): Record<string, string> {
  const [file, ...options] = readComposeFile().services.redis!.command!
  const pairs = Array.from({ length: options.length / 2 }, (_, n) => [
    options[2 * n]!.replace(/^--/, ''),
    options[2 * n + 1]!,
  ])
  const { dir, ...rest } = Object.fromEntries(pairs)
  if (file !== '/run/secrets/redis.conf' || dir !== '/data')
    throw new Error('not the file, or not the volume')
  return rest
}

test('Redis in Compose: requires the password, and loses no acknowledged write', async (t) => {
  const secrets = makeSecrets(t)
  const redis = await ownRedis(t, { ...settings(), include: join(secrets, 'redis.conf') })
  const withoutPassword = new Redis(redis.url, { lazyConnect: true })
  withoutPassword.on('error', () => {}) // the command fails with the same error
  t.teardown(() => withoutPassword.disconnect())
  await t.throwsAsync(withoutPassword.get('x'), { message: /NOAUTH/ })
  const url = new URL(readFileSync(join(secrets, 'store_url'), 'utf8').trim())
  t.is(url.host, 'redis:6379')
  url.host = new URL(redis.url).host
  const { store, warnings } = await openRedisStore(url.href)
  t.teardown(() => store.close())
  t.deepEqual(warnings, [])
  await t.notThrowsAsync(store.ping())

  const [kind, command = ''] = readComposeFile().services.redis!.healthcheck!.test
  t.is(kind, 'CMD-SHELL')
  const check = (file: string) =>
    run('sh', [
      '-c',
      command.replace('/run/secrets/redis.conf', file).replace('redis-cli', `redis-cli -p ${url.port}`),
    ])
  await t.notThrowsAsync(check(join(secrets, 'redis.conf')))
  await t.throwsAsync(check(join(secrets, 'admin_key')), undefined, 'another password is refused')
})
