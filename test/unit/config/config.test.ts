import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { type Config, loadConfig } from '../../../src/config/config.ts'
import { shippedVocabulary } from '../../../src/config/vocabulary.ts'
import { ConfigError } from '../../../src/errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'entrepot-config-'))
test.after.always(() => rmSync(folder, { recursive: true }))

function load(toml: string, environment: Record<string, string> = {}): Config {
  const file = join(mkdtempSync(join(folder, 'case-')), 'gateway.toml')
  writeFileSync(file, toml)
  return loadConfig({ ENTREPOT_CONFIG: file, ...environment })
}

function problemsOf(t: ExecutionContext, toml: string, environment: Record<string, string> = {}): string[] {
  const error = t.throws(() => load(toml, environment), { instanceOf: ConfigError })
  return error?.message.replaceAll(/^.*gateway\.toml(:\d+)?: /gm, '').split('\n') ?? []
}

test('config: an empty file and an empty environment give the defaults', (t) => {
  // In a container it may be less than that of the machine.
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const { configPath, tokens, vocabulary, ...config } = load('')
  t.truthy(configPath)
  t.is(tokens.find('base', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913')?.symbol, 'USDC')
  t.is(vocabulary.tables.version, shippedVocabulary().tables.version)
  t.deepEqual(config, {
    host: '127.0.0.1',
    port: 8080,
    storeUrl: 'sqlite:data/entrepot.db',
    requireReadKey: false,
    requireWriteKey: false,
    setsGates: false,
    adminKey: null,
    bootstrapKey: null,
    metricsKey: null,
    filterSpecPath: 'config/filter-spec.yaml',
    metricsPublic: false,
    logLevel: 'info',
    logClients: false,
    tracing: null,
    gateway: { id: 'entrepot', budgetMs: 4000, schema: null },
    registry: { name: 'local', enabled: true, listingShape: 'warn' },
    access: { announcePrivate: false, plain: true, anonymous: 'public', keys: 'all' },
    views: [],
    curation: { denyPublishers: [], rules: [] },
    keys: { trustSeconds: 300, declared: [] },
    changes: { retentionSeconds: 86_400, maxWatchers: 1000, maxWatchersPerReader: 20 },
    audit: { writes: false, retentionDays: 90, maxBytes: 67_108_864 },
    cache: { freshSeconds: 15, maxBytes: Math.floor(0.4 * memory) },
    authority: null,
    identity: null,
    limits: {
      anonymousPerMinute: 0,
      readKeyPerMinute: 0,
      publishPerMinute: 300,
      principalPerMinute: 0,
      listingsPerPublisher: 10_000,
      trustedProxies: [],
    },
    upstreams: [],
    warnings: [],
  })
})

test('config: the shipped gateway file is valid', (t) => {
  t.notThrows(() => loadConfig({ ENTREPOT_CONFIG: 'config/gateway.toml' }))
})

test('config: the key of an upstream is in a variable, or in a file beside the gateway file', (t) => {
  const keyFile = join(folder, 'secret')
  writeFileSync(keyFile, ' from-file \n')
  const { upstreams } = load(
    `
    [[upstreams]]
    name = "a"
    url = "\${SCHEME}://a.example/registry/"
    api_key_env = "A_KEY"
    [[upstreams]]
    name = "b"
    url = "https://b.example"
    api_key_file = "${keyFile}"
    priority = 7`,
    { SCHEME: 'https', A_KEY: 'from-environment' },
  )
  t.like(upstreams[0], {
    url: 'https://a.example/registry',
    key: 'from-environment',
    priority: 1,
  })
  t.like(upstreams[1], { key: 'from-file', priority: 7, visibility: 'public' })
})

test('config: booleans have four spellings each, and no other', (t) => {
  for (const value of ['true', '1', 'YES', 'On']) {
    t.true(load('', { REGISTRY_REQUIRE_READ_API_KEY: value }).requireReadKey)
  }
  for (const value of ['false', '0', 'no', 'OFF', '']) {
    t.false(load('', { REGISTRY_REQUIRE_READ_API_KEY: value }).requireReadKey)
  }
  for (const value of ['perhaps', 'constructor', '__proto__']) {
    const [problem] = problemsOf(t, '', { METRICS_PUBLIC: value })
    t.is(problem, `METRICS_PUBLIC: expected true, false, 1, 0, yes, no, on or off, got '${value}'`)
  }
})

test('config: every problem of the environment and of the file is reported at once', (t) => {
  const environment = { PORT: '99999', STORE_URL: 'mysql://root:hunter2@db', METRICS_PUBLIC: 'perhaps' }
  const problems = problemsOf(t, 'unknown = 1', { ...environment, LOG_LEVEL: 'loud' })
  const paths = problems.map((line) => line.slice(0, line.indexOf(':')))
  t.deepEqual(paths.toSorted(), ['LOG_LEVEL', 'METRICS_PUBLIC', 'PORT', 'STORE_URL', 'unknown'])
  t.false(problems.join().includes('hunter2'), 'a password is not repeated')
})

const token = (chain: string, symbol: string, decimals: number): string =>
  `[[tokens]]\nchain="${chain}"\naddress="0x${'0'.repeat(40)}"\nsymbol="${symbol}"\ndecimals=${decimals}\n`

test('config: [[tokens]] of the gateway file replace those of config/tokens.toml', (t) => {
  const { tokens } = load(token('anvil', 'TEST', 18))
  t.deepEqual(tokens.all, [{ chain: 'anvil', address: `0x${'0'.repeat(40)}`, symbol: 'TEST', decimals: 18 }])
  const asset = '[[tokens]]\nmechanism="fiat.stripe.v1"\nasset="EUR"\nsymbol="EUR"\ndecimals=2\n'
  t.deepEqual(load(asset).tokens.all, [
    { chain: 'fiat.stripe.v1', address: 'eur', symbol: 'EUR', decimals: 2 },
  ])
  const all = Array.from({ length: 1001 }, (_, n) => token(`chain-${n}`, 'TEST', 18)).join('')
  t.deepEqual(problemsOf(t, all), ['tokens: at most 1000 tokens; remove some'])
})

const upstream = (settings: string, name = 'a', url = 'http://a'): string =>
  `[[upstreams]]\nname = "${name}"\nurl = "${url}"\n${settings}\n`

/** What a file of settings has as its only problem. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  '[gateway\n': /not TOML: .*\(line 1, column \d+\)$/,
  '[gateway]\nid = "${UNSET}"':
    /^gateway\.id: the environment variable UNSET is not set; set it, or remove \$\{UNSET\}$/,
  '[gateway]\nid = "eu-${EMPTY}"': /^gateway\.id: the environment variable EMPTY is not set; /,
  '[gateway]\nid = "${constructor}"': /^gateway\.id: the environment variable constructor is not set; /,
  '[registry]\nenabled = false': /leaves nothing to serve/,
  '[limits]\ntrusted_proxies = ["here"]': /limits\.trusted_proxies\[0\]: expected a CIDR/,
  [upstream('api_key_env = "UNSET"')]:
    /^upstreams\[0\]\.api_key_env: the environment variable UNSET is not set/,
  [upstream('api_key_file = "nope"')]: /^upstreams\[0\]\.api_key_file: cannot read .*nope: no such file$/,
  [upstream('api_key_file = "x"\napi_key_env = "HOME"')]: /has both/,
  [upstream('').repeat(2)]: /^upstreams\[1\]\.name: two sources are named 'a'; rename one$/,
  [upstream('', 'local')]: /two sources are named 'local'/,
  [upstream('', 'a', 'http://u:p@a')]: /must not hold credentials/,
  [upstream('', 'a', 'http://a?x')]: /must have no query/,
  [upstream('', 'a', 'http://a?')]: /must have no query/,
  '[[tokens]]\nchain="base"\naddress="0x12"\nsymbol="USDC"\ndecimals=6':
    /^tokens\[0\]\.address: expected 0x and 40 hex digits$/,
  '[[tokens]]\nmechanism="fiat.stripe.v1"\nasset="usd"\naddress="0x12"\nsymbol="USD"\ndecimals=2':
    /^tokens\[0\]\.address: a settlement option has mechanism and asset, and neither chain nor address$/,
  [token('base', 'USDC', 6) + token('base', 'USDX', 6)]:
    /^tokens\[1\]: base:0x0{40} is named twice; remove one$/,
}

test('config: a file has at most 1,000 upstreams', (t) => {
  const all = (count: number) =>
    Array.from({ length: count }, (_, n) => upstream('', `r${n}`, `http://r${n}`)).join('')
  t.is(load(all(1000)).upstreams.length, 1000)
  t.deepEqual(problemsOf(t, all(1001)), ['upstreams: at most 1000 entries; remove some'])
})

test('config: what cannot be used is one problem, with its place and what to do', (t) => {
  for (const [toml, problem] of Object.entries(REFUSED)) {
    const problems = problemsOf(t, toml, { EMPTY: '' })
    t.is(problems.length, 1, problems.join('\n'))
    t.regex(problems[0]!, problem)
  }
})

test('config: a key that cannot be sent in a header is refused, and not repeated', (t) => {
  const [problem] = problemsOf(t, upstream('api_key_env = "K"'), { K: 'se\ncret' })
  t.regex(problem!, /cannot be sent in a header/)
  t.false(problem!.includes('cret'))
})

test('config: a missing gateway file is reported with its variable', (t) => {
  const error = t.throws(() => loadConfig({ ENTREPOT_CONFIG: join(folder, 'nowhere.toml') }))
  t.regex(error?.message ?? '', /^ENTREPOT_CONFIG: cannot read .*nowhere\.toml: no such file$/)
})

test('config: a problem has the line of its setting, and a misspelt name a suggestion', (t) => {
  const file = join(mkdtempSync(join(folder, 'case-')), 'gateway.toml')
  const lines = [
    'limit = 1',
    '[gateway]',
    'budget_ms = "soon"',
    '[[upstreams]]',
    'name = "a"',
    'url = "https://a.example"',
    '[[upstreams]]',
    'url = "https://b.example"',
    'timeout = 3',
    'api_key = "abc"',
    'mode = "live"',
    'max_in_flight = 0',
    '[registry]',
    'enabled = "yes"',
    '[limits]',
    'trusted_proxies = ["10.0.0.1"]',
  ]
  writeFileSync(file, lines.join('\n'))
  const error = t.throws(() => loadConfig({ ENTREPOT_CONFIG: file }), { instanceOf: ConfigError })
  t.deepEqual(error?.message.replaceAll(file, 'f').split('\n').toSorted(), [
    'f:10: upstreams[1].api_key: unknown setting: the file holds no keys; use api_key_env or api_key_file',
    'f:11: upstreams[1].mode: unknown setting; remove it, or correct its name',
    'f:12: upstreams[1].max_in_flight: expected 1 or more',
    'f:14: registry.enabled: expected true or false',
    'f:16: limits.trusted_proxies[0]: expected a CIDR such as 10.0.0.0/8',
    'f:1: limit: unknown setting; did you mean limits?',
    'f:3: gateway.budget_ms: expected a number',
    'f:7: upstreams[1].name: is missing; add it',
    'f:9: upstreams[1].timeout: unknown setting; did you mean timeout_ms?',
  ])
})

test('config: what is wrong with a rule has its line, and one that leaves out nothing is a warning', (t) => {
  const eu = upstream('', 'eu', 'https://eu.example')
  t.deepEqual(
    problemsOf(
      t,
      `${eu}[[curation.rules]]
source = "ue"
deny = { publisher = ["alice"], storefront = ["https://shop.example/?a=1"] }
only = { gpu = [] }
label = ""`,
    ).sort(),
    [
      'curation.rules[0].deny.publisher[0]: expected 0x and 40 hex digits, or ed25519: and a key',
      'curation.rules[0].deny.storefront[0]: expected the http or https URL of a storefront, without a query',
      'curation.rules[0].label: expected 1 to 64 printable characters',
      'curation.rules[0].only.gpu: expected 1 or more',
    ],
  )
  t.deepEqual(problemsOf(t, `${eu}[[curation.rules]]\nsource = "ue"\nlabel = "x"`), [
    "curation.rules[0].source: there is no source 'ue'; known are local, eu",
  ])
  const rules = (toml: string) =>
    load(toml, { REGISTRY_REQUIRE_WRITE_API_KEY: 'true' }).warnings.map(({ path }) => path)
  t.deepEqual(rules('[[curation.rules]]\nlabel = "x"'), ['curation.rules[0]'])
  t.deepEqual(rules(`${eu}[[curation.rules]]\ndeny = { publisher = [] }`), ['curation.rules[0]'])
  t.deepEqual(rules(`${eu}[[curation.rules]]\nlabel = "x"\n[[curation.rules]]\nlabel = "y"`), [
    'curation.rules[1].label',
  ])
})

test('config: what is valid and probably not intended is a warning with what to do', (t) => {
  const toml =
    upstream('', 'a', 'https://a.example/x') +
    upstream('', 'b', 'https://A.example:443/x/') +
    upstream('timeout_ms = 9000\nconnect_timeout_ms = 9500', 'c', 'http://10.1.2.3')
  const { warnings } = load(toml, {
    HOST: '0.0.0.0',
    REGISTRY_REQUIRE_READ_KEY: 'true',
    REGISTRY_ADMIN_API_KEY: 'abc',
    REGISTRY_BOOTSTRAP_API_KEY: `${'a'.repeat(40)} b`,
  })
  const [variable, admin, bootstrap, useless, gate, twin, late, connect, address, ...rest] = warnings.map(
    ({ path, message }) => `${path}: ${message}`,
  )
  t.regex(variable!, /^REGISTRY_REQUIRE_READ_KEY: .*did you mean REGISTRY_REQUIRE_READ_API_KEY\?$/)
  t.regex(admin!, /^REGISTRY_ADMIN_API_KEY: has 3 characters .*entrepot secret$/)
  t.regex(bootstrap!, /^REGISTRY_BOOTSTRAP_API_KEY: .* no client can send/)
  t.regex(useless!, /^REGISTRY_BOOTSTRAP_API_KEY: no gate asks for a key/)
  t.regex(gate!, /^REGISTRY_REQUIRE_WRITE_API_KEY: .*any wallet can publish/)
  t.regex(twin!, /^upstreams\[1\]\.url \(b\): also the URL of a/)
  t.regex(late!, /^upstreams\[2\]\.timeout_ms \(c\): 9000 is more than gateway\.budget_ms \(4000\)/)
  t.regex(connect!, /^upstreams\[2\]\.connect_timeout_ms \(c\): 9500 is more than timeout_ms/)
  t.regex(address!, /^upstreams\[2\]\.url \(c\): .*allow_private_addresses = true/)
  t.deepEqual(rest, [])
  const good = {
    HOST: '0.0.0.0',
    REGISTRY_REQUIRE_WRITE_API_KEY: 'true',
    REGISTRY_ADMIN_API_KEY: 'f'.repeat(64),
  }
  t.deepEqual(load(upstream('', 'a', 'https://a.example'), good).warnings, [])
})
