import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import test from 'ava'

const run = promisify(execFile)

type Ended = { code: number; stdout: string; stderr: string }

const entrepot = (args: string[], env: Record<string, string>): Promise<Ended> =>
  run(process.execPath, args, { env: { ...process.env, ...env } }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (cause) => cause as Ended,
  )

const SERVE = ['src/bin.ts', 'serve']

test('process: an invalid configuration ends the start with 78, one line a problem', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'entrepot-')), 'gateway.toml')
  writeFileSync(file, '[gateway]\nbudget = 5\n')
  const { code, stdout, stderr } = await entrepot(SERVE, { ENTREPOT_CONFIG: file, PORT: 'http' })
  t.is(code, 78)
  t.is(stdout, '')
  t.deepEqual(stderr.trim().split('\n'), [
    "PORT: expected a port number from 0 to 65535, got 'http'",
    `${file}: gateway.budget: unknown setting; remove it, or correct its name`,
  ])
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
    `PORT: port ${port} on 127.0.0.1 is in use; set PORT to another one, or stop the process that uses it`,
  )
  const demo = await entrepot(['demo/demo.ts'], { PORT: String(port) })
  t.is(demo.code, 78)
  t.regex(demo.stderr, /^demo: port \d+ on 127.0.0.1 is in use; .*PORT=9090 npm run demo/)
})

test('process: SIGTERM answers the in-flight request and exits with 0', async (t) => {
  const child = spawn(process.execPath, SERVE, {
    env: { ...process.env, PORT: '0', STORE_URL: 'sqlite::memory:' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines = createInterface({ input: child.stderr })
  const { url } = JSON.parse((await once(lines, 'line'))[0]) as { url: string }
  // A body in two halves keeps the request in flight.
  const { request } = await import('node:http')
  const posting = request(`${url}/listings`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
  })
  posting.write('{"identifier"')
  await fetch(`${url}/health`)
  child.kill('SIGTERM')
  await once(lines, 'line')
  posting.end(':1}')
  const [response] = await once(posting, 'response')
  t.is(response.statusCode, 400)
  response.resume()
  const [code] = await once(child, 'exit')
  t.is(code, 0)
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
