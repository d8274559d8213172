import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { readBuyerConfig } from '../../../src/cli/registries/buyer-config.ts'
import { nearMisses, urlProblem } from '../../../src/cli/registries/select-registries.ts'
import { openRegistryClient } from '../../../src/context/buyer.ts'
import { startServer } from '../../helpers/fixed-answers.ts'
import { listen } from '../../helpers/listen.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { runCli, runProcess, temporaryFile, temporaryFolder } from '../../helpers/run-cli.ts'
import { AS_ALICE } from '../../helpers/seller.ts'

test('buyer config: buyer.secrets.toml is merged deeply over buyer.toml', (t) => {
  const base = temporaryFolder(t)
  mkdirSync(join(base, 'arkhai'))
  writeFileSync(
    join(base, 'arkhai/buyer.toml'),
    `[registry]
urls = [" http://a.example ", "http://b.example", "http://a.example"]
discovery_timeout = 2.5
[registry.auth]
"http://a.example" = "shared"
"http://b.example" = "kept"
[wallet]
address = "0x1"
`,
  )
  writeFileSync(
    join(base, 'arkhai/buyer.secrets.toml'),
    '[registry.auth]\n" http://a.example " = " own "\n"http://c.example" = " "\n',
  )
  const { urls, auth, discoveryTimeoutMs, files, problems } = readBuyerConfig({ XDG_CONFIG_HOME: base })
  t.deepEqual(urls, ['http://a.example', 'http://b.example'])
  t.deepEqual(Object.fromEntries(auth), { 'http://a.example': 'own', 'http://b.example': 'kept' })
  t.is(discoveryTimeoutMs, 2500)
  t.is(files.length, 2)
  t.deepEqual(problems, [])
})

test('buyer config: defaults apply without files; --config reads one file only', (t) => {
  const home = temporaryFolder(t)
  const { urls, auth, discoveryTimeoutMs, problems } = readBuyerConfig({ HOME: home })
  t.deepEqual([urls, auth.size, discoveryTimeoutMs, problems], [[], 0, 5000, []])
  mkdirSync(join(home, '.config/arkhai'), { recursive: true })
  writeFileSync(join(home, '.config/arkhai/buyer.toml'), '[registry]\nurls = ["http://home.example"]')
  t.deepEqual(readBuyerConfig({ HOME: home }).urls, ['http://home.example'])
  t.deepEqual(readBuyerConfig({ HOME: home }, temporaryFile(t, 'c.toml', '')).urls, [])
})

test('buyer config: an unusable value is named by file and line, not quoted, and left out', (t) => {
  const cases: [text: string, path: RegExp][] = [
    ['[registry]\nurls = "http://a.example"', /bad\.toml:2: registry\.urls$/],
    ['[registry]\nurl = "http://a.example"', /bad\.toml:2: registry\.url$/],
    ['\n[registry]\nurls = [1]', /bad\.toml:3: registry\.urls$/],
    ['registry = 1', /bad\.toml:1: registry$/],
    ['[registry]\ndiscovery_timeout = -1', /bad\.toml:2: registry\.discovery_timeout$/],
    ['[registry]\ndiscovery_timeout = "soon"', /:2: registry\.discovery_timeout$/],
    ['[registry]\ndiscovery_timeout = true', /:2: registry\.discovery_timeout$/],
    ['[registry]\nauth = "secret"', /:2: registry\.auth$/],
    ['[registry.auth]\n"http://a.example" = "sec\\nret"', /:2: registry\.auth\.http:\/\/a\.example$/],
    ['[registry.auth]\n"http://a.example" = secret', /bad\.toml:2:22$/],
    ['[regisry]\nurls = ["http://a.example"]', /bad\.toml:1: regisry$/],
    ['urls = ["http://a.example"]', /bad\.toml:1: urls$/],
  ]
  for (const [text, path] of cases) {
    const config = readBuyerConfig({}, temporaryFile(t, 'bad.toml', text))
    t.deepEqual([config.urls, config.auth.size, config.discoveryTimeoutMs], [[], 0, 5000], text)
    t.is(config.problems.length, 1, text)
    t.regex(config.problems[0]?.path ?? '', path)
    t.notRegex(JSON.stringify(config.problems), /sec(?!onds|tion)/)
  }
})

test('buyer config: [tokens] replace the tokens of the package; an unusable one is named', (t) => {
  const read = (text: string) => readBuyerConfig({}, temporaryFile(t, 'tokens.toml', text))
  t.is(read('').tokens.named('base:USDC')[0]?.decimals, 6)
  const address = `0x${'a'.repeat(40)}`
  const own = read(`[tokens]\n"anvil:0x${'A'.repeat(40)}" = { symbol = "TEST", decimals = 18 }`)
  t.deepEqual(own.problems, [])
  t.deepEqual(own.tokens.all, [{ chain: 'anvil', address, symbol: 'TEST', decimals: 18 }])
  const cases: [text: string, path: string][] = [
    ['tokens = 1', '1: tokens'],
    ['[tokens]\n"anvil" = { symbol = "TEST", decimals = 18 }', '2: tokens."anvil".address'],
    [
      `[tokens]\n"anvil:${address}" = { symbol = "TE ST", decimals = 18 }`,
      `2: tokens."anvil:${address}".symbol`,
    ],
    [
      `[tokens]\n"anvil:${address}" = { symbol = "TEST", decimals = 99 }`,
      `2: tokens."anvil:${address}".decimals`,
    ],
  ]
  for (const [text, path] of cases)
    t.deepEqual(
      read(text).problems.map((one) => one.path.replace(/^.*tokens\.toml:/, '')),
      [path],
      text,
    )
})

test('buyer config: names near ours are warnings in the default files, problems in a named one', (t) => {
  const text = '[wallet]\naddress = "0x1"\n[regisry]\n[registry]\nurl = ["http://a.example"]\n[plugins]\n'
  const home = temporaryFolder(t)
  mkdirSync(join(home, '.config/arkhai'), { recursive: true })
  writeFileSync(join(home, '.config/arkhai/buyer.toml'), text)
  const shared = readBuyerConfig({ HOME: home })
  t.deepEqual(shared.problems, [])
  t.deepEqual(
    shared.warnings.map(({ message }) => message),
    ['unknown section; did you mean registry?', 'unknown setting; did you mean urls?'],
  )
  const named = readBuyerConfig({}, temporaryFile(t, 'mine.toml', text))
  t.deepEqual(named.warnings, [])
  t.deepEqual(
    named.problems.map(({ message }) => message),
    [
      'unknown section; did you mean registry?',
      'unknown section; remove it',
      'unknown setting; did you mean urls?',
    ],
  )
})

test.serial('configuration: an unusable file stops every command before anything is sent', async (t) => {
  const asked: string[] = []
  const url = await listen(t, ({ url = '' }, response) => {
    asked.push(url)
    response.writeHead(404).end()
  })
  const listing = temporaryFile(t, 'l.json', '{"listing_id":"x"}')
  const bad = temporaryFile(t, 'bad.toml', '[registry\nurls = [')
  const typo = temporaryFile(t, 'typo.toml', `[regisry]\nurls = ["${url}"]`)
  const home = temporaryFolder(t)
  mkdirSync(join(home, 'arkhai'))
  writeFileSync(join(home, 'arkhai/buyer.toml'), `[registry]\nurl = "${url}"\n`)
  const near = { XDG_CONFIG_HOME: home }
  const cases: [args: string[], env: Record<string, string>, message: RegExp][] = [
    [['listings', '--config', '/nope.toml', '-r', url], {}, /^entrepot: \/nope\.toml: .*no such file$/m],
    [['listings', '--config', bad, '-r', url], {}, /^entrepot: .*bad\.toml:1:\d+: not TOML: /m],
    [['delete', 'x', '--config', '/nope.toml'], {}, /no such file/],
    [
      ['publish', listing, '--config', typo],
      {},
      /typo\.toml:1: regisry: unknown section; did you mean registry\?/,
    ],
    [['publish', listing], {}, /^entrepot: no Registry is named to write to: use -r URL/m],
    [
      ['update', 'x', '--status', 'closed', '-r', url],
      near,
      /buyer\.toml:2: registry\.url: .*did you mean urls/,
    ],
    [['keys', 'list'], { REGISTRY_ADMIN_API_KEY: 'admin' }, /no Registry is named: use -r URL/],
  ]
  const runs = await Promise.all(cases.map(([args, env]) => runCli(args, { env: { ...AS_ALICE, ...env } })))
  runs.forEach(({ code, stdout, stderr }, n) => {
    t.deepEqual([code, stdout], [78, ''], stderr)
    t.regex(stderr, cases[n]![2])
  })
  t.deepEqual(asked, [])
  const read = await runCli(['listings', '-r', url], { env: near })
  t.regex(read.stderr, /^entrepot: warning: .*buyer\.toml:2: registry\.url/m)
  t.true(asked.length > 0)
})

test.serial('options: an empty value is refused, as of a variable that is not set', async (t) => {
  for (const args of [
    ['delete', 'x', '-r', ''],
    ['listings', '-r', ' , '],
    ['keys', 'list', '-r', ''],
    ['listings', '--publisher', ''],
    ['facets', '--token', 'USDC', '--max-price', ''],
    ['listings', '--sort', 'price', '--token', ''],
  ]) {
    const { code, stdout, stderr } = await runCli(args, { env: AS_ALICE })
    t.deepEqual([code, stdout], [1, ''], args.join(' '))
    t.regex(stderr, /^entrepot: option '-.*' argument '[ ,]*' is invalid\. Expected a (URL|value)\./)
  }
})

test.serial('timeouts: one that is longer than a timer of Node may be is no short one', async (t) => {
  const url = await startServer(t, { '/sources': '[]' })
  const config = temporaryFile(t, 'buyer.toml', '[registry]\ndiscovery_timeout = 3_000_000\n')
  const { code, stderr } = await runCli(['sources', '-r', url, '--config', config])
  t.is(code, 0, stderr)
})

test('a user without a home folder reads Registries that are named', async (t) => {
  const { url } = await startRegistry(t)
  const homeless = encodeURIComponent(
    "import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module'; os.homedir = () => { throw new Error('uv_os_homedir') }; syncBuiltinESMExports()",
  )
  const env = { HOME: '', NODE_OPTIONS: `--import=data:text/javascript,${homeless}` }
  const named = await runProcess(['listings', '-r', url], { env })
  t.deepEqual([named.code, named.stdout], [0, '[]\n'])
  const { code, stderr } = await runProcess(['publish', 'nowhere.yaml'], { env })
  t.not(code, 0)
  t.notRegex(stderr, /unexpected|homedir/)
})

test('client: a public Registry may not refer to a private address; a local one may', async (t) => {
  const url = await startServer(t, { '/status': '{}' })
  const client = openRegistryClient()
  t.teardown(client.close)
  const request = { method: 'GET', url: `${url}/status`, key: null, timeoutMs: 5000 } as const
  const referredBy = { url: 'https://registry.example' }
  await t.throwsAsync(client.send({ ...request, referredBy }), { message: /private address/ })
  t.is((await client.send({ ...request, referredBy: { url } })).status, 200)
  t.is((await client.send(request)).status, 200)
})

const misses = (url: string, keyUrl: string): boolean =>
  nearMisses([url], new Map([[keyUrl, 'key']])).length > 0

test('select: a key URL that differs in a slash or an escape is a near miss', (t) => {
  const url = 'https://registry.example/market'
  for (const near of ['https://registry.example/market/', 'HTTPS://registry.example./%6Darket'])
    t.true(misses(url, near), near)
  for (const far of [
    url,
    'HTTPS://registry.example/market',
    'https://Registry.Example/market',
    'https://registry.example:0443/market',
    'http://registry.example/market',
    'https://registry.example:8443/market',
    'https://registry.example/Market',
    'https://registry.example',
    'not a url',
  ])
    t.false(misses(url, far), far)
  const exact = new Map([url, `${url}/`].map((one) => [one, 'key']))
  t.deepEqual(nearMisses([url], exact), [], 'with a key of its own')
})

test('select: only http URLs without credentials, query or fragment are valid', (t) => {
  t.is(urlProblem('http://h:8080/registry/'), null)
  for (const bad of [
    'registry',
    'ftp://h',
    'http://u:p@h',
    'http://h?a=1',
    'http://h?',
    'http://h#x',
    'file:///etc/passwd',
  ])
    t.not(urlProblem(bad), null, bad)
})

test.serial('config add: a URL is added, and the rest of the file is as it was', async (t) => {
  const A = '"http://a.example"'
  const cases: [before: string, after: string][] = [
    ['', `[registry]\nurls = ["URL"]\n`],
    ['[wallet]\nx = 1', `[wallet]\nx = 1\n\n[registry]\nurls = ["URL"]\n`],
    ['[registry]\ndiscovery_timeout = 2\n', '[registry]\nurls = ["URL"]\ndiscovery_timeout = 2\n'],
    [`[registry]\nurls = [${A}] # mine\n`, `[registry]\nurls = [${A}, "URL"] # mine\n`],
    ['[registry]\nurls = []\n', '[registry]\nurls = ["URL"]\n'],
    [`[registry]\nurls = [\n  ${A}, # ]\n]\n`, `[registry]\nurls = [\n  ${A}, # ]\n"URL"]\n`],
    [`[registry.auth]\n${A} = "k]"\n`, `[registry.auth]\n${A} = "k]"\n\n[registry]\nurls = ["URL"]\n`],
    [`registry.urls = [${A}]\n`, `registry.urls = [${A}, "URL"]\n`],
  ]
  const url = 'https://new.example/path'
  for (const [before, after] of cases) {
    const file = temporaryFile(t, 'mine.toml', before)
    const { code, stderr } = await runCli(['config', 'add', url, '--config', file])
    t.is(code, 0, stderr)
    t.is(readFileSync(file, 'utf8'), after.replace('URL', url))
    t.is(readBuyerConfig({}, file).urls.at(-1), url)
    const again = await runCli(['config', 'add', url, '--config', file])
    t.regex(again.stderr, /was there already/)
    t.is(readFileSync(file, 'utf8'), after.replace('URL', url))
  }
})

test.serial(
  'config add: makes the file of the configuration; a broken or inline one stays as it is',
  async (t) => {
    const env = { XDG_CONFIG_HOME: temporaryFolder(t) }
    const { code, stderr } = await runCli(['config', 'add', 'http://a.example'], { env })
    t.is(code, 0, stderr)
    await runCli(['config', 'add', 'http://b.example'], { env })
    t.deepEqual(readBuyerConfig(env).urls, ['http://a.example', 'http://b.example'])
    for (const text of ['[registry', 'registry = { discovery_timeout = 2 }\n']) {
      const file = temporaryFile(t, 'odd.toml', text)
      t.is((await runCli(['config', 'add', 'http://a.example', '--config', file])).code, 78, text)
      t.is(readFileSync(file, 'utf8'), text)
    }
    const bad = await runCli(['config', 'add', 'http://user:secret@a.example'], { env })
    t.is(bad.code, 1)
    t.notRegex(bad.stderr, /secret/)
  },
)
