import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { DEFAULT_URLS, readBuyerConfig } from '../../src/cli/registries/buyer-config.ts'
import { temporaryFile, temporaryFolder } from '../helpers/run-cli.ts'

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
  t.deepEqual([urls, auth.size, discoveryTimeoutMs, problems], [DEFAULT_URLS, 0, 5000, []])
  mkdirSync(join(home, '.config/arkhai'), { recursive: true })
  writeFileSync(join(home, '.config/arkhai/buyer.toml'), '[registry]\nurls = ["http://home.example"]')
  t.deepEqual(readBuyerConfig({ HOME: home }).urls, ['http://home.example'])
  t.deepEqual(readBuyerConfig({ HOME: home }, temporaryFile(t, 'c.toml', '')).urls, DEFAULT_URLS)
})

test('buyer config: an unusable value is named, not quoted, and gets its default', (t) => {
  const cases: [text: string, path: RegExp][] = [
    ['[registry]\nurls = "http://a.example"', /^registry\.urls$/],
    ['[registry]\nurl = "http://a.example"', /^registry\.url$/],
    ['[registry]\nurls = [1]', /^registry\.urls$/],
    ['[registry]\ndiscovery_timeout = -1', /discovery_timeout/],
    ['[registry]\ndiscovery_timeout = "soon"', /discovery_timeout/],
    ['[registry]\nauth = "secret"', /^registry\.auth$/],
    ['[registry.auth]\n"http://a.example" = "sec\\nret"', /a\.example/],
    ['[registry.auth]\n"http://a.example" = secret', /bad\.toml$/],
  ]
  for (const [text, path] of cases) {
    const config = readBuyerConfig({}, temporaryFile(t, 'bad.toml', text))
    t.deepEqual([config.urls, config.auth.size, config.discoveryTimeoutMs], [DEFAULT_URLS, 0, 5000], text)
    t.is(config.problems.length, 1, text)
    t.regex(config.problems[0]?.path ?? '', path)
    t.notRegex(JSON.stringify(config.problems), /sec(?!onds)/)
  }
})

test('buyer config: [tokens] replace the tokens of the package; an unusable one is named', (t) => {
  const read = (text: string) => readBuyerConfig({}, temporaryFile(t, 'tokens.toml', text))
  t.is(read('').tokens.parse('base:USDC')[0]?.decimals, 6)
  const address = `0x${'a'.repeat(40)}`
  const own = read(`[tokens]\n"anvil:0x${'A'.repeat(40)}" = { symbol = "TEST", decimals = 18 }`)
  t.deepEqual(own.problems, [])
  t.deepEqual(own.tokens.all, [{ chain: 'anvil', address, symbol: 'TEST', decimals: 18 }])
  const cases: [text: string, path: string][] = [
    ['tokens = 1', 'tokens'],
    ['[tokens]\n"anvil" = { symbol = "TEST", decimals = 18 }', 'tokens."anvil".address'],
    [
      `[tokens]\n"anvil:${address}" = { symbol = "TE ST", decimals = 18 }`,
      `tokens."anvil:${address}".symbol`,
    ],
    [
      `[tokens]\n"anvil:${address}" = { symbol = "TEST", decimals = 99 }`,
      `tokens."anvil:${address}".decimals`,
    ],
  ]
  for (const [text, path] of cases)
    t.deepEqual(
      read(text).problems.map((one) => one.path),
      [path],
      text,
    )
})
