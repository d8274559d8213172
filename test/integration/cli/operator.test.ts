import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import test, { type ExecutionContext } from 'ava'
import { parse as parseToml } from 'smol-toml'
import { parse as parseYaml } from 'yaml'
import { loadConfig } from '../../../src/config/config.ts'
import { renderFilterSpec } from '../../../src/filter-spec/filter.ts'
import { readFilterSpec } from '../../../src/filter-spec/load.ts'
import { eventually } from '../../helpers/eventually.ts'
import { deadUrl, listingText, startFakeRegistry } from '../../helpers/fake-registry.ts'
import { startServer } from '../../helpers/fixed-answers.ts'
import { startFake } from '../../helpers/gateway.ts'
import { listen } from '../../helpers/listen.ts'
import { startRegistry } from '../../helpers/registry.ts'
import {
  CLI,
  hasTerminal,
  runCli,
  runInTerminal,
  runProcess,
  runShell,
  temporaryFile,
  temporaryFolder,
  temporaryStore,
} from '../../helpers/run-cli.ts'

const ADMIN = { REGISTRY_ADMIN_API_KEY: 'admin-secret' }

test.serial('keys: a key is created, listed and revoked', async (t) => {
  const { url, get } = await startRegistry(t, {
    environment: { ...ADMIN, REGISTRY_REQUIRE_READ_API_KEY: 'true' },
  })
  const minted = await runCli(
    ['keys', 'mint', 'alice', '--scope', 'write', '--expires-in-days', '30', '-r', url, '--json'],
    { env: ADMIN },
  )
  t.is(minted.code, 0)
  const { id, key, scope, created_at, expires_at } = JSON.parse(minted.stdout)
  t.is(scope, 'write')
  t.is(Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 86_400_000), 30)
  const bare = await runCli(['keys', 'mint', 'carol', '-r', url], { env: ADMIN })
  t.is((await get('/listings', { Authorization: `Bearer ${bare.stdout.trim()}` })).status, 200)
  t.regex(bare.stderr, /^key \d+ 'carol' \(read\); it is not shown again:$/m)
  const bearer = { Authorization: `Bearer ${key}` }
  t.is((await get('/listings', bearer)).status, 200)
  // HOST and PORT name the operator's own service where no -r does.
  const { hostname, port } = new URL(url)
  const listed = await runCli(['keys', 'list'], { env: { ...ADMIN, HOST: hostname, PORT: port } })
  t.is(JSON.parse(listed.stdout).at(-1).name, 'alice')
  const table = await runInTerminal(['keys', 'list', '-r', url], { env: ADMIN })
  if (hasTerminal)
    t.true(table.stdout.includes(`${created_at.slice(0, 16).replace('T', ' ')}Z`), table.stdout)
  const byIPv6 = await runCli(['keys', 'list'], { env: { ...ADMIN, HOST: '::1', PORT: '1' } })
  t.regex(byIPv6.stderr, /^entrepot: http:\/\/\[::1\]:1: /)
  t.is((await runCli(['keys', 'revoke', String(id), '-r', url], { env: ADMIN })).code, 0)
  const rotated = await runCli(['keys', 'rotate', 'carol', '--overlap', '2h', '-r', url], { env: ADMIN })
  t.is(rotated.code, 0)
  t.regex(rotated.stderr, /^key 2 expires at [\d: -]+Z; key 3 'carol' is not shown again:$/m)
  t.regex(rotated.stdout, /^[\w-]{43}\n$/)
  t.is((await runCli(['keys', 'rotate', 'carol', '-r', url], { env: ADMIN })).code, 65)
  t.is((await runCli(['keys', 'rotate', 'carol', '--overlap', 'soon', '-r', url], { env: ADMIN })).code, 1)
  for (const given of [
    ['--role', 'metrics', '--view', 'all'],
    ['--role', 'metrics', '--scope', 'read'],
    ['--scope', 'admin'],
  ])
    t.is((await runCli(['keys', 'mint', 'm', ...given, '-r', url], { env: ADMIN })).code, 1, given.join(' '))
  const scraper = await runCli(['keys', 'mint', 'm', '--role', 'metrics', '-r', url, '--json'], {
    env: ADMIN,
  })
  const { role, ...rights } = JSON.parse(scraper.stdout)
  t.deepEqual([role, 'scope' in rights], ['metrics', false])
  t.regex(scraper.stderr, /^key 4 'm' \(metrics\); it is not shown again:$/m)
  t.is((await get('/listings', bearer)).status, 401)
  for (const days of ['soon', '0', '1.5'])
    t.is(
      (await runCli(['keys', 'mint', 'bob', '--expires-in-days', days, '-r', url], { env: ADMIN })).code,
      1,
      days,
    )
  t.is((await runCli(['keys', 'revoke', '99', '-r', url], { env: ADMIN })).code, 1)
  t.is((await runCli(['keys', 'list', '-r', url], { env: { REGISTRY_ADMIN_API_KEY: 'other' } })).code, 77)
  t.is((await runCli(['keys', 'list', '-r', url])).code, 77)
  const withSecret = await runCli(['keys', 'list', '-r', 'http://user:secret@127.0.0.1'], { env: ADMIN })
  t.is(withSecret.code, 1)
  t.false(withSecret.stderr.includes('secret@'))
  const byFile = { REGISTRY_ADMIN_API_KEY_FILE: temporaryFile(t, 'admin-key', 'admin-secret\n') }
  t.is((await runCli(['keys', 'list', '-r', url], { env: byFile })).code, 0)
  const missing = await runCli(['keys', 'list', '-r', url], {
    env: { REGISTRY_ADMIN_API_KEY_FILE: '/nowhere/key' },
  })
  t.deepEqual(
    [missing.code, missing.stderr.trim()],
    [78, 'entrepot: REGISTRY_ADMIN_API_KEY_FILE: cannot read /nowhere/key: no such file'],
  )
})

test.serial(
  'audit: acts at the service and on its host are lines in a pipe and a table on a terminal',
  async (t) => {
    const STORE_URL = temporaryStore(t)
    const host = { STORE_URL }
    const root = { ...ADMIN, STORE_URL }
    t.regex(
      (await runCli(['keys', 'mint', 'ann', '--store'], { env: host })).stderr,
      /start the service once/,
    )
    const { url } = await startRegistry(t, { environment: { ...root, REGISTRY_REQUIRE_READ_API_KEY: 'on' } })
    const minted = await runCli(['keys', 'mint', 'ann', '--role', 'admin', '--store'], { env: host })
    t.is(minted.code, 0, minted.stderr)
    const ann = { REGISTRY_ADMIN_API_KEY: minted.stdout.trim() }
    for (const args of [
      ['keys', 'mint', 'operator', '--role', 'admin', '--store'],
      ['keys', 'mint', 'eve', '--store', '-r', url],
    ])
      t.is((await runCli(args, { env: host })).code, 1, args.join(' '))
    const wallet = `0x${'a'.repeat(40)}`
    await eventually('the key at the service', async () => {
      const { code } = await runCli(['block', wallet, '--reason', 'spam', '-r', url], { env: ann })
      return code === 0
    })
    const past = await runCli(['block', wallet, '--reason', 'r', '--until', '2020-01-01', '-r', url], {
      env: ann,
    })
    t.is(past.code, 1)
    t.regex(past.stderr, /--until 2020-01-01 is past, so the block would end at once/)
    t.is((await runCli(['keys', 'mint', 'eve', '--role', 'admin', '-r', url], { env: ann })).code, 77)
    t.is((await runCli(['unblock', wallet, '-r', url], { env: root })).code, 0)
    t.is((await runCli(['backup', join(temporaryFolder(t), 'b.db')], { env: host })).code, 0)

    const piped = await runCli(['audit', '--since', '1h', '-r', url], { env: ann })
    const entries = piped.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.deepEqual(
      entries.map(({ act, result }) => `${act} ${result}`),
      ['key.mint ok', 'block.add ok', 'key.mint forbidden', 'block.end ok', 'backup ok'],
    )
    t.regex(entries[0].by, /^local:[^ ]+@[^ ]+$/)
    t.deepEqual(entries.map(({ by }) => by).slice(1, 4), ['ann', 'ann', 'operator'])
    const last = await runCli(['audit', '--limit', '1', '-r', url], { env: ann })
    t.deepEqual(JSON.parse(last.stdout), entries.at(-1))
    t.is((await runCli(['audit', '--since', '2100-01-01T00:00Z', '-r', url], { env: ann })).stdout, '')
    t.is((await runCli(['audit', '--since', 'soon', '-r', url], { env: ann })).code, 1)
    const table = await runInTerminal(['audit', '-r', url], { env: ann })
    if (hasTerminal) t.regex(table.stdout, /block\.end +block 1 of 0xa+… +ok/)
  },
)

test.serial('keys: the page of another server is no success', async (t) => {
  const page = '<html>login</html>'
  const url = await startServer(t, {
    'POST /admin/api-keys': page,
    'GET /admin/api-keys': page,
    'DELETE /admin/api-keys/3': page,
  })
  for (const [args, expected] of [
    [['mint', 'alice'], '201 with the key'],
    [['list'], '200 with the keys'],
    [['revoke', '3'], '204'],
  ] as const) {
    const { code, stdout, stderr } = await runCli(['keys', ...args, '-r', url], { env: ADMIN })
    const error = `entrepot: HTTP 200: not a Registry's answer, which is ${expected}\n`
    t.deepEqual([code, stdout, stderr], [4, '', error])
  }
})

test.serial('secret: prints 32 random bytes in hex', async (t) => {
  const [one, other] = [await runCli(['secret']), await runCli(['secret'])]
  t.regex(one.stdout, /^[0-9a-f]{64}\n$/)
  t.not(one.stdout, other.stdout)
})

const BAD_PORT = "PORT: expected a port number from 0 to 65535, got 'x'"
const NO_ENTRY =
  'is neither NAME=value nor a # comment; blanks are spaces and tabs, lines end with a line feed, and quotes are closed'

/** What `.env` holds, and what a start says of it. */
const ENV_FILES: Record<string, [content: string | Buffer, problems: readonly string[]]> = {
  'a byte order mark': ['\ufeffPORT=x\n', [BAD_PORT]],
  'UTF-16': [
    Buffer.from('\ufeffPORT=x\n', 'utf16le'),
    ['.env: cannot be read: it is not in UTF-8, but in UTF-16; save it as UTF-8'],
  ],
  'every form of an entry': [
    '# comment\r\n\n \texport A = "b\nc" # d\nE=\'f\'\nG=`h`\nHOST= \nPORT=x # y\nI="j=k"\r\nL=',
    [BAD_PORT],
  ],
  'lines that are no entries': [
    'PORT: 1\nPORT=1\rHOST=a\n\u00a0PORT=1\nPORT\u00a0=1\nPORT=1\u2028HOST=a\nA="b\nC="d"\nhunter2\nPORT=x',
    [1, 2, 3, 4, 5, 6, 8].map((line) => `.env:${line}: ${NO_ENTRY}`),
  ],
}

for (const [name, [content, problems]] of Object.entries(ENV_FILES))
  test(`check: every line of .env is read or named: ${name}`, async (t) => {
    const folder = temporaryFolder(t)
    writeFileSync(join(folder, '.env'), content)
    const { code, stdout } = await runShell(`cd '${folder}' && ${CLI} check`)
    t.is(code, 78)
    const findings = JSON.parse(stdout) as { subject: string; finding: string }[]
    t.deepEqual(
      findings.map(({ subject, finding }) => `${subject}: ${finding}`),
      problems,
    )
  })

test.serial('init: writes files that serve runs with, and overwrites nothing', async (t) => {
  const folder = join(temporaryFolder(t), 'gateway')
  const { code, stdout } = await runCli(['init', folder])
  t.is(code, 0)
  t.regex(stdout, /entrepot serve/)
  const lines = readFileSync(join(folder, '.env'), 'utf8')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line))
  const environment = Object.fromEntries(lines.map((line) => line.split('=', 2) as [string, string]))
  const beside = (name: string) => join(folder, environment[name] ?? '')
  const config = loadConfig({ ...environment, ENTREPOT_CONFIG: beside('ENTREPOT_CONFIG') })
  t.is(statSync(join(folder, '.env')).mode & 0o777, 0o600)
  t.regex(config.adminKey ?? '', /^[0-9a-f]{64}$/)
  t.deepEqual([config.requireReadKey, config.requireWriteKey], [true, true])
  t.true(readFilterSpec(beside('REGISTRY_FILTER_SPEC_PATH')).filters.has('gpu_model'))
  // The example is valid where the shape is enforced.
  const spec = beside('REGISTRY_FILTER_SPEC_PATH')
  const { url } = await startRegistry(t, { environment: { REGISTRY_FILTER_SPEC_PATH: spec } })
  const example = join(folder, 'listing.example.yaml')
  t.is((await runCli(['validate', example, '-r', url])).code, 0)
  const before = statSync(beside('ENTREPOT_CONFIG')).mtimeMs
  t.is((await runCli(['init', folder])).code, 1)
  t.regex((await runCli(['init', example])).stderr, /^entrepot: cannot use .* as a folder: EEXIST/)
  t.is(statSync(beside('ENTREPOT_CONFIG')).mtimeMs, before)
})

test.serial('doctor: a near-miss key exits 78, otherwise the Registries decide', async (t) => {
  const fake = await startFakeRegistry()
  t.teardown(fake.close)
  const config = (auth: string) =>
    temporaryFile(t, 'buyer.toml', `[registry]\nurls = ["${fake.url}"]\n[registry.auth]\n${auth}`)
  const near = await runCli(['doctor', '--config', config(`"${fake.url}/" = "secret-key"`)])
  t.is(near.code, 78)
  t.true(near.stdout.includes(`${fake.url}/ is not sent to ${fake.url}:`))
  t.false(near.stdout.includes('secret-key'))
  t.is((await runCli(['doctor', '--config', config('')])).code, 0)
  t.is((await runCli(['doctor', '-r', `${fake.url},${deadUrl()}`])).code, 3)
  t.is((await runCli(['doctor', '--config', temporaryFile(t, 'bad.toml', 'urls = [')])).code, 78)
})

test.serial('doctor: credentials in URLs are not printed', async (t) => {
  const toml = `[registry]
urls = ["http://user:hunter2@127.0.0.1:1", "http://127.0.0.1:2"]
[registry.auth]
"http://127.0.0.1:1" = "key"
"http://user:hunter2@127.0.0.1:2" = "key"
"http://user:hunter2@127.0.0.1:3" = "key"`
  const { code, stdout, stderr } = await runCli(['doctor', '--config', temporaryFile(t, 'buyer.toml', toml)])
  t.is(code, 78)
  t.true(stdout.includes('http://…@127.0.0.1:1'))
  t.false((stdout + stderr).includes('hunter2'))
})

test.serial(
  'doctor: a wrong scheme, a redirect, another clock and an unused key are explained',
  async (t) => {
    const { url } = await startRegistry(t)
    const elsewhere = await listen(t, (_request, response) =>
      response.writeHead(301, { location: 'https://new.example/' }).end(),
    )
    const config = temporaryFile(
      t,
      'buyer.toml',
      `[registry]\nurls = ["${url}"]\n[registry.auth]\n"${url}" = "key"\n"http://other.example" = "key"`,
    )
    const behind = encodeURIComponent('const now = Date.now; Date.now = () => now() - 600000')
    const { stdout } = await runProcess(
      ['doctor', '--config', config, '-r', `${url.replace('http:', 'https:')},${elsewhere},${url}`],
      { env: { NODE_OPTIONS: `--import=data:text/javascript,${behind}` } },
    )
    t.regex(stdout, /tls: the server does not speak TLS; is it an http:\/\/ URL\?/)
    t.regex(stdout, /HTTP 301: redirects to https:\/\/new\.example\/, which is not followed; use that URL/)
    t.regex(stdout, /your clock is 10 min behind the Registry's/)
    t.regex(stdout, /\[registry\.auth\] http:\/\/other\.example.*no Registry of urls has this URL/s)
    t.is(stdout.match(/no Registry of urls has/g)?.length, 1)
  },
)

test.serial('sources, doctor: a Registry that refuses reads has failed', async (t) => {
  const gated = await startRegistry(t, { environment: { REGISTRY_REQUIRE_READ_API_KEY: 'true' } })
  const healthy = (listings: string) =>
    startServer(t, {
      '/health': '{"status":"ok"}',
      '/filter-spec': '{}',
      '/listings?status=open&limit=1': listings,
    })
  const cases: [url: string, code: number, message: RegExp][] = [
    [gated.url, 77, /HTTP 401: API key required/],
    [await healthy('{"detail":"no envelope"}'), 4, /not a page of listings/],
    [await healthy('<html>'), 4, /not a page of listings/],
  ]
  for (const [url, code, message] of cases) {
    const sources = await runCli(['sources', '-r', url])
    t.deepEqual([sources.code, sources.stdout], [code, ''])
    t.regex(sources.stderr, message)
    const doctor = await runCli(['doctor', '-r', url])
    t.is(doctor.code, code)
    t.regex(doctor.stdout, message)
  }
})

test.serial('sources: a gateway with a malformed list of sources has failed', async (t) => {
  const url = await startServer(t, { '/sources': '<html>' })
  const { code, stderr } = await runCli(['sources', '-r', url])
  t.is(code, 4)
  t.regex(stderr, /GET \/sources: not a list of sources/)
})

test.serial('sources: prints the sources of a gateway, and a plain Registry’s state', async (t) => {
  const reported = { name: 'curated', state: 'unavailable', last_error: { reason: 'timeout' } }
  const gateway = await startServer(t, { '/sources': JSON.stringify({ sources: [reported] }) })
  const { url } = await startRegistry(t)
  const both = `${gateway},${url}`
  const { code, stdout } = await runCli(['sources', '-r', both])
  t.is(code, 0)
  const [viaGateway, plain] = JSON.parse(stdout)
  t.deepEqual([viaGateway.kind, viaGateway.sources], ['gateway', [reported]])
  t.deepEqual([plain.kind, plain.sources[0].state], ['registry', 'loaded'])
  t.is((await runCli(['sources', '-r', deadUrl()])).code, 4)
})

type Finding = { subject: string; state: string; finding: string }

/** `entrepot check` of a gateway file with a store in memory, or as the environment says. */
async function check(
  t: ExecutionContext,
  toml: string,
  env: Record<string, string> = {},
  ...flags: string[]
) {
  const { code, stdout } = await runCli(['check', ...flags], {
    env: { ENTREPOT_CONFIG: temporaryFile(t, 'gateway.toml', toml), STORE_URL: 'sqlite::memory:', ...env },
  })
  return { code, stdout, findings: JSON.parse(stdout) as Finding[] }
}

const upstreamToml = (url: string, more = '', name = 'up'): string =>
  `[[upstreams]]\nname = "${name}"\nurl = "${url}"\nallow_private_addresses = true\n${more}\n`

test.serial('check: warns of filters that take the names of query parameters', async (t) => {
  const filter = (name: string) => ({ name, path: name, op: 'in', value_type: 'string' })
  const spec = { version: 1, listing_shape: {}, filters: ['sort', 'region', 'cursor'].map(filter) }
  const file = temporaryFile(t, 'spec.yaml', JSON.stringify(spec))
  const { code, findings } = await check(t, '', { REGISTRY_FILTER_SPEC_PATH: file })
  t.is(code, 0)
  const warned = findings.filter(({ subject }) => subject.startsWith(`${file}: filter`))
  t.deepEqual(
    warned.map(({ subject, state }) => [subject, state]),
    [
      [`${file}: filter 'sort'`, 'warning'],
      [`${file}: filter 'cursor'`, 'warning'],
    ],
  )
  t.regex(warned[0]!.finding, /query parameter 'sort'/)
})

test.serial(
  'check: prints the ranking, and warns of a private source that outranks public ones',
  async (t) => {
    const { url } = await startRegistry(t)
    const { findings } = await check(
      t,
      upstreamToml(`${url}/late`, 'visibility = "private"\npriority = 9', 'late') +
        upstreamToml(`${url}/open`, 'priority = 5', 'open') +
        upstreamToml(`${url}/curated`, 'visibility = "private"', 'curated'),
    )
    const ranking = findings.find(({ subject }) => subject === 'sources, the best first')
    t.is(ranking?.finding, 'local 0, curated 3 (private), open 5, late 9 (private)')
    const warned = findings.filter(({ finding }) => finding.startsWith('private, and better'))
    t.like(warned, [{ subject: 'upstreams[2].priority (curated)', state: 'warning' }])
    t.is(warned.length, 1)
    t.regex(
      warned[0]!.finding,
      /better than open: .*anonymous readers get the worse copy, readers with a key the better one/,
    )
  },
)

test.serial('check: exits with 78 for what would fail the start, and with 0 for warnings', async (t) => {
  const key = 'b'.repeat(64)
  const { url } = await startRegistry(t, {
    environment: { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: key },
  })
  const text = 'not a database, but long enough to be read as one'.repeat(100)
  const foreign = temporaryFile(t, 'notes.db', text)
  const missing = join(temporaryFolder(t), 'typo', 'x.db')
  const inside = upstreamToml(url).replace('allow_private_addresses = true\n', '')
  for (const [toml, env, code, state, last] of [
    [
      upstreamToml(url, 'api_key_env = "UP_KEY"'),
      { UP_KEY: key },
      0,
      'ok',
      /^0 open listings, schema vms\.compute, with a key, /,
    ],
    [upstreamToml(url), {}, 78, 'wrong', /401.*api_key_env/],
    [inside, {}, 0, 'warning', /^private_address: /],
    [upstreamToml(deadUrl()), {}, 0, 'warning', /^connection_refused/],
    ['', { STORE_URL: `sqlite:${foreign}` }, 78, 'wrong', /name another file/],
    [
      '',
      { STORE_URL: `sqlite:${missing}` },
      0,
      'warning',
      /does not exist; the start creates an empty store there/,
    ],
    ['[gatway]', {}, 78, 'wrong', /./],
  ] as const) {
    const checked = await check(t, toml, env)
    t.is(checked.code, code, toml)
    const found = checked.findings.filter(({ subject }) => !subject.startsWith('/')).at(-1)
    t.is(found?.state ?? state, state)
    t.regex(found?.finding ?? ' ', last)
  }
  t.false(existsSync(missing))
})

test.serial('check: warns of an upstream whose models or regions are not recognised', async (t) => {
  const offer = (gpu_model: string) => ({ gpu_model, region: 'Frankfurt, DE' })
  const items = ['H100', 'Hopper big', 'a100-80gb'].map((model, n) =>
    listingText({ listing_id: `${n}`, offer_resource: offer(model) }),
  )
  const fake = await startFake(t, { items })
  const { code, findings } = await check(t, upstreamToml(fake.url))
  t.is(code, 0)
  const warned = findings.filter(({ finding }) => finding.includes('not known'))
  t.is(warned.length, 1)
  t.regex(warned[0]!.finding, /^1 of 3 models are not known, such as "Hopper big": .*\[vocabulary\] gpus$/)
})

test.serial(
  'check: says which filters of `only` are sent to an upstream, and which are applied here',
  async (t) => {
    const filterSpec = JSON.parse(renderFilterSpec(readFilterSpec('config/filter-spec.yaml')))
    const declares = await startFake(t, { filterSpec })
    const lacks = await startFake(t)
    const rules = '[[curation.rules]]\nonly = { gpu_model = "H200", gpu = "H200" }\n'
    const toml = upstreamToml(declares.url, '', 'one') + upstreamToml(lacks.url, '', 'two') + rules
    const { findings } = await check(t, toml)
    const held = findings.flatMap(({ finding }) => /in memory.*/.exec(finding) ?? [])
    t.deepEqual(held, [
      'in memory, as far as its rules keep it: gpu_model is sent to it, gpu is applied here',
      'in memory, as far as its rules keep it: gpu_model is applied here, gpu is applied here',
    ])
  },
)

test.serial('check: a store with keys and no gate is wrong, as the start says', async (t) => {
  const STORE_URL = temporaryStore(t)
  const gates = { STORE_URL, ...ADMIN, REGISTRY_REQUIRE_READ_API_KEY: 'on' }
  const { url } = await startRegistry(t, { environment: gates })
  const env = { STORE_URL, ...ADMIN }
  const open = { ...env, REGISTRY_REQUIRE_READ_API_KEY: 'false', REGISTRY_REQUIRE_WRITE_API_KEY: 'false' }
  t.is((await check(t, '', env)).code, 0)
  await runCli(['keys', 'mint', 'alice', '-r', url], { env })
  for (const [environment, code, isNamed] of [
    [env, 78, true],
    [gates, 0, false],
    [open, 0, true],
  ] as const) {
    const checked = await check(t, '', environment)
    t.is(checked.code, code)
    t.is(/the store has 1 API key, and no gate asks for one/.test(checked.stdout), isNamed)
  }
  const ungated = await startRegistry(t, { environment: ADMIN })
  const minted = await runCli(['keys', 'mint', 'bob', '-r', ungated.url], { env: ADMIN })
  t.is(minted.code, 0)
  t.regex(minted.stderr, /warning: No gate asks for a key, and the next start ends with 78/)
})

test.serial(
  'check: names filters of views and rules that match nothing, and keys whose view is lost',
  async (t) => {
    const view = '[[views]]\nname = "partners"\nfilter = { gpu_interconnect = ["nvlink", "pcie"] }\n'
    const environment = { STORE_URL: temporaryStore(t), ...ADMIN, REGISTRY_REQUIRE_READ_API_KEY: 'on' }
    const { url } = await startRegistry(t, { environment, toml: view })
    await runCli(['keys', 'mint', 'alice', '--view', 'partners', '-r', url], { env: ADMIN })
    const rule = (only: string) => `[[curation.rules]]\nsource = "local"\nonly = { ${only} }`
    const range = (max: number) =>
      `[[views]]\nname = "large"\nfilter = { gpu_count_min = "range:[9,${max}]" }`
    const lost = /the key \\"alice\\" has the view 'partners', which the file does not have/
    const unknown =
      /views\[0\]\.filter\.gpu_interconnect[^}]*'pcie' is not a known value; did you mean pcie_only/
    const empty = /filter\.gpu_count_min[^}]*wants at least 9, and gpu_count_min at most 3/
    for (const [toml, reported, not] of [
      [view, [/gateway\.toml:3: views/, unknown], [/alice/]],
      [rule('gpu_interconnect = "sli"'), [/toml:3: curation\.rules\[0\]\.only\.gpu_interconnect/, lost], []],
      [range(3), [empty], []],
      [range(9), [], [/wants at least/]],
    ] as const) {
      const { stdout, code } = await check(t, toml, environment)
      t.is(code, 0, stdout)
      for (const one of reported) t.regex(stdout, one)
      for (const one of not) t.notRegex(stdout, one)
    }
    t.is((await check(t, rule('gpu_model_x = "sli"'), environment)).code, 78)
  },
)

test.serial('check: --offline asks nothing, --strict exits with 78 for a warning', async (t) => {
  const upstream = `[[upstreams]]\nname = "up"\nurl = "${deadUrl()}"\n`
  const offline = (toml: string, ...flags: string[]) =>
    check(t, toml, { STORE_URL: 'redis://127.0.0.1:1' }, '--offline', ...flags)
  const { code, stdout } = await offline(upstream)
  t.is(code, 0)
  t.regex(stdout, /leads to a private address/)
  t.notRegex(stdout, /Redis|tls:|connection_refused/)
  t.is((await offline(upstream, '--strict')).code, 78)
  t.is((await offline('', '--strict')).code, 0)
  t.is((await offline('[limits]\nread = 1')).code, 78)
})

test.serial('check: --diff says what a reload would change, and changes nothing', async (t) => {
  const adminKey = 'a'.repeat(64)
  const { url, get, setGatewayFile, context } = await startRegistry(t, {
    environment: { REGISTRY_ADMIN_API_KEY: adminKey },
  })
  const { hostname, port } = new URL(url)
  const own = {
    ENTREPOT_CONFIG: context.config.configPath,
    HOST: hostname,
    PORT: port,
    STORE_URL: 'sqlite::memory:',
  }
  const diff = async (key = adminKey) => {
    const env = { ...own, REGISTRY_ADMIN_API_KEY: key }
    const { code, stdout } = await runCli(['check', '--diff'], { env })
    const [{ finding }] = JSON.parse(stdout)
    return [code, finding]
  }
  t.deepEqual(await diff(), [0, 'a reload changes nothing'])
  setGatewayFile(`[limits]\nread_key_per_minute = 7\n[[upstreams]]\nname = "up"\nurl = "${deadUrl()}"\n`)
  t.deepEqual(await diff(), [0, 'a reload adds up; changes limits'])
  t.is((await get('/sources')).status, 404, 'it is a plain Registry still')
  t.deepEqual(await diff('b'.repeat(64)), [78, 'HTTP 401: Invalid admin token'])
  await context.reload()
  t.deepEqual(await diff(), [0, 'a reload changes nothing'])
  const away = { ...own, PORT: new URL(deadUrl()).port, REGISTRY_ADMIN_API_KEY: adminKey }
  const { code, stdout } = await runCli(['check', '--diff'], { env: away })
  t.is(code, 78)
  t.regex(stdout, /connection_refused: .*; is the service running\?/)
})

test.serial('schema: the shipped files fit, and a misspelt member does not', async (t) => {
  const validate = async (name: string) => {
    const { code, stdout } = await runCli(['schema', name])
    t.is(code, 0)
    const schema = JSON.parse(stdout)
    t.deepEqual(
      undescribed(schema).filter((path) => !OF_OTHERS.has(path)),
      [],
      name,
    )
    return new Ajv({ strict: false, validateFormats: false }).compile(schema)
  }
  const fits = await validate('gateway')
  for (const file of globSync(['config/gateway.toml', 'deploy/**/*.toml', 'examples/*.toml']))
    t.true(fits(parseToml(readFileSync(file, 'utf8'))), file)
  // Each setting that the file explains, as its comments show it.
  const explained = readFileSync('config/gateway.toml', 'utf8').replaceAll(/^# (?=\w+ = |\[)/gm, '')
  t.true(fits(parseToml(explained)), JSON.stringify(fits.errors))
  t.false(fits({ limits: { read_key_per_minut: 1 } }))
  t.false(fits({ upstreams: [{ name: 'Up', url: 'https://a.example' }] }))
  const spec = await validate('filter-spec')
  for (const file of globSync('config/filter-spec*.yaml'))
    t.true(spec(parseYaml(readFileSync(file, 'utf8'))), JSON.stringify(spec.errors))
  t.false(spec({ version: 1, listing_shape: {}, filters: [{ name: 'a', path: 'b', op: 'eq' }] }))
})

type Schema = { properties?: Record<string, Schema>; items?: Schema; description?: string }

/** Paths of members without a description. */
function undescribed({ properties, items }: Schema): string[] {
  return Object.entries(properties ?? items?.properties ?? {}).flatMap(([name, member]) => [
    ...(member.description === undefined ? [name] : []),
    ...undescribed(member).map((inner) => `${name}.${inner}`),
  ])
}

/** Members that the words of another one describe. */
const OF_OTHERS = new Set([
  'curation.rules.deny.publisher',
  'curation.rules.deny.storefront',
  'tokens.mechanism',
  'tokens.asset',
  'upstreams.api_key_file',
  'upstreams.identities.scheme',
  'upstreams.identities.identifier',
])
