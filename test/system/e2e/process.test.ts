import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import test from 'ava'
import { ConfigError } from '../../../src/errors.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { temporaryFile, temporaryFolder } from '../../helpers/run-cli.ts'

const run = promisify(execFile)

type Ended = { code: number; stdout: string; stderr: string }

const entrepot = (args: string[], env: Record<string, string>): Promise<Ended> =>
  run(process.execPath, args, { env: { ...process.env, ...env } }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (cause) => cause as Ended,
  )

const SERVE = ['src/bin.ts', 'serve']

test('process: an invalid configuration ends the start with 78, one line a problem', async (t) => {
  const file = temporaryFile(t, 'gateway.toml', '[gateway]\nbudget = 5\n')
  const { code, stdout, stderr } = await entrepot(SERVE, { ENTREPOT_CONFIG: file, PORT: 'http' })
  t.is(code, 78)
  t.is(stdout, '')
  t.deepEqual(stderr.trim().split('\n'), [
    "entrepot: PORT: expected a port number from 0 to 65535, got 'http'",
    `entrepot: ${file}:2: gateway.budget: unknown setting; did you mean budget_ms?`,
  ])
})

test('process: a store of an older version ends the start with 78, its path and what to do', async (t) => {
  const store = join(temporaryFolder(t), 'entrepot.db')
  writeFileSync(store, gunzipSync(readFileSync('test/fixtures/stores/0.4.0.db.gz')))
  const { code, stdout, stderr } = await entrepot(SERVE, { STORE_URL: `sqlite:${store}`, PORT: '0' })
  t.is(code, 78)
  t.is(stdout, '')
  const [line, ...others] = stderr.trim().split('\n')
  t.deepEqual(others, [])
  t.true(line?.startsWith(`entrepot: STORE_URL: ${store} was written by an older entrepot`), line)
  t.regex(line!, /name a new file, and let sellers run `entrepot sync`$/)
})

test('process: takes .env and gateway.toml of its folder, and says what it uses and what is doubtful', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, '.env'), 'PORT=wrong\nHOST=0.0.0.0\nREGISTRY_REQUIRE_WRITE_KEY=true\n')
  writeFileSync(join(folder, 'gateway.toml'), '')
  const child = spawn(process.execPath, [resolve('src/bin.ts'), 'serve'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines: Record<string, unknown>[] = []
  for await (const line of createInterface(child.stderr)) {
    lines.push(JSON.parse(line))
    if (lines.at(-1)!.msg === 'listening') child.kill('SIGTERM')
  }
  t.like(
    lines.find(({ msg }) => msg === 'listening'),
    {
      reads: 'open',
      writes: 'open',
      admin: 'off',
      store: 'sqlite:data/entrepot.db',
      gateway_file: 'gateway.toml',
      filter_spec: resolve('config/filter-spec.yaml'),
      upstreams: 0,
    },
  )
  const warnings = lines.filter(({ msg }) => msg === 'configuration warning')
  t.deepEqual(
    warnings.map(({ setting }) => setting),
    ['REGISTRY_REQUIRE_WRITE_KEY', 'REGISTRY_REQUIRE_WRITE_API_KEY'],
  )
  t.regex(String(warnings[0]!.problem), /did you mean REGISTRY_REQUIRE_WRITE_API_KEY\?/)
  t.like(lines.at(-1), { msg: 'stopped', cut_connections: 0 })
})

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  test(`process: ${signal} ends a start that waits for its store, with 0`, async (t) => {
    const redis = createTcpServer().listen(0, '127.0.0.1')
    await once(redis, 'listening')
    t.teardown(() => redis.close())
    const { port } = redis.address() as AddressInfo
    const child = spawn(process.execPath, [resolve('src/bin.ts'), 'serve'], {
      env: { PATH: process.env.PATH, PORT: '0', STORE_URL: `redis://127.0.0.1:${port}` },
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    const [socket] = await once(redis, 'connection')
    t.teardown(() => socket.destroy())
    child.kill(signal)
    t.deepEqual(await ended, [0, null])
  })

test('process: a port in use is named, with what to do', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const { code, stderr } = await entrepot(SERVE, { PORT: String(port), STORE_URL: 'sqlite::memory:' })
  t.is(code, 78)
  t.is(
    stderr.trim(),
    `entrepot: PORT: port ${port} on 127.0.0.1 is in use; set PORT to another one, or stop the process that uses it`,
  )
  for (const host of ['192.0.2.1', 'fe80::1%nowhere', 'a b']) {
    const start = startRegistry(t, { environment: { HOST: host } })
    await t.throwsAsync(start, {
      instanceOf: ConfigError,
      message: `HOST: cannot listen on ${host}:0: the host is no address of this machine`,
    })
  }
  const demo = await entrepot(['demo/demo.ts'], { PORT: String(port) })
  t.is(demo.code, 78)
  t.regex(demo.stderr, /^demo: port \d+ on 127.0.0.1 is in use; .*PORT=9090 npm run demo/)
})

test('process: the demo prints exactly the merged envelope', async (t) => {
  const { code, stdout } = await entrepot(['demo/demo.ts', '--once'], { PORT: '0' })
  t.is(code, 0)
  const answer = JSON.parse(stdout) as Record<string, unknown> & {
    items: { _meta: { registry: string; also_in: string[] } }[]
    sources: { registry: string; state: string }[]
  }
  t.is(answer.count, 50)
  t.is(answer.total_after_filter, 316, 'one of the 317 is in two Registries')
  t.true(answer.complete)
  t.deepEqual(
    answer.sources.map(({ registry, state }) => `${registry} ${state}`),
    ['local loaded', 'open-market loaded', 'curated loaded', 'co-located loaded'],
  )
  const twice = answer.items.filter(({ _meta }) => _meta.also_in.length > 0)
  t.deepEqual(
    twice.map(({ _meta }) => _meta.also_in),
    [['curated']],
  )
})
