import { spawn } from 'node:child_process'
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { type DemoMarket, startDemoMarket } from '../../../demo/market.ts'
import { BIN, temporaryFolder } from '../../helpers/run-cli.ts'

const DOCKER = 'needs Docker; see test/system/deploy/'

/** Every other line of a block `sh` is run. Blocks with a mark (`run=`, `env=`) are run in `test/system/ops/`. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm ci && npm run demo': 'installs packages and does not end; the market here is the one of the demo',
  'npm ci && npm test': 'this test is a part of it',
  'entrepot watch -r http://127.0.0.1:8080 --gpu H200 --max-price 2.10 --token USDC':
    'does not end; see test/integration/cli/watch.test.ts',
  'deploy/make-secrets.sh && docker compose up --build --detach --wait': DOCKER,
  'docker compose build': DOCKER,
  'docker compose up --detach --no-deps --wait gateway-1 && docker compose up --detach --no-deps --wait gateway-2':
    DOCKER,
  'docker build --tag entrepot:0.3.0 .': DOCKER,
  'docker run --detach --publish 127.0.0.1:8080:8080 --volume market:/app/data entrepot:0.3.0': DOCKER,
  'docker run --rm --volume market:/app/data --volume "$PWD:/backups" entrepot:0.3.0 backup /backups/market.db':
    DOCKER,
  'docker run --rm --network entrepot_back --volume "$PWD/deploy/secrets/store_url:/store_url:ro" --env STORE_URL_FILE=/store_url --volume "$PWD:/backups" entrepot:0.3.0 backup /backups/market.db':
    DOCKER,
}

/** Exit codes of lines that do not end with 0. */
const EXIT_CODES: Readonly<Record<string, number>> = {
  // The demo has no storefronts, and the document says so.
  'entrepot review weather-0001 -r http://127.0.0.1:8080': 3,
}

/** Examples of the reference whose listing, signature, position or block is made up, with their answers here. */
const MADE_UP = [
  '404 GET /listings/8x-h200-tokyo',
  '400 GET /changes',
  '401 POST /listings',
  '404 PUT /listings/8x-h200-tokyo',
  '404 DELETE /listings/8x-h200-tokyo',
  '404 DELETE /admin/blocks/7',
  '409 POST /admin/api-keys/rotate',
]

const DOCUMENTS = ['README.md', ...globSync('docs/*.md').sort()]
const BLOCK = /^```sh\n([\s\S]*?)^```$/gm

const linesOf = (document: string): string[] =>
  [...readFileSync(document, 'utf8').matchAll(BLOCK)].flatMap(([, text = '']) =>
    text
      .trim()
      .replaceAll(/ *\\\n */g, ' ')
      .split('\n'),
  )

const commandOf = (line: string): string => line.replace(/ +#.*$/, '')

function withExitCode(line: string): string {
  const code = EXIT_CODES[line]
  return code === undefined ? line : `${line} && exit 1 || [ $? = ${code} ]`
}

/** The market is the operator's service; another that is started ends once it listens. */
const ENTREPOT = `#!/bin/sh
export PORT="$MARKET_PORT" REGISTRY_ADMIN_API_KEY="$OPERATOR_KEY"
[ "$1" = serve ] || exec '${process.execPath}' '${BIN}' "$@"
mkfifo log
PORT=0 '${process.execPath}' '${BIN}' serve 2>log & pid=$!
grep -q '"listening"' log
kill $pid && wait $pid
`

const market = await startDemoMarket(0)
test.after.always(() => market.close())

/** What the documents call these addresses. */
const here = (text: string, { gateway, registries }: DemoMarket): string =>
  text
    .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):8080|https:\/\/registry\.example/g, gateway)
    .replaceAll('https://open.example', registries['open-market'])
    .replaceAll('https://curated.example', registries['co-located'])

/** Runs the lines in one shell, which stops at the first failure. */
async function runAll(t: ExecutionContext, home: string, folder: string, lines: readonly string[]) {
  mkdirSync(folder)
  const { hostname, port } = new URL(market.gateway)
  const child = spawn('bash', ['-exc', here(lines.map(withExitCode).join('\n'), market)], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: `${home}:${process.env.PATH}`,
      HOME: home,
      NODE_COMPILE_CACHE: getCompileCacheDir(),
      HOST: hostname,
      MARKET_PORT: port,
      ENTREPOT_KEY_PASSPHRASE_FILE: join(home, 'passphrase'),
      ENTREPOT_KEY: market.readerKey,
      METRICS_KEY: market.operatorKey,
      REGISTRY_ADMIN_API_KEY: market.operatorKey,
      OPERATOR_KEY: market.operatorKey,
    },
  })
  let [stdout, log] = ['', '']
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (log += chunk))
  const code = await new Promise((resolve) => child.on('close', resolve))
  t.is(code, 0, log.slice(-2000))
  return stdout
}

function createHome(t: ExecutionContext): string {
  const home = temporaryFolder(t)
  writeFileSync(join(home, 'entrepot'), ENTREPOT)
  chmodSync(join(home, 'entrepot'), 0o755)
  writeFileSync(join(home, 'passphrase'), 'correct horse', { mode: 0o600 })
  writeFileSync(join(home, '.curlrc'), 'silent\nwrite-out = "\\n%{http_code} %{method} %{url}\\n"\n')
  return home
}

test('documents: every command of README.md and docs/ runs, from an empty folder', async (t) => {
  const home = createHome(t)
  const skipped = new Set<string>()
  const statuses: string[] = []
  for (const document of DOCUMENTS) {
    const lines = linesOf(document).filter((line) => {
      const isRun = NOT_RUN[commandOf(line)] === undefined
      if (!isRun) skipped.add(commandOf(line))
      return isRun
    })
    if (lines.length === 0) continue
    const folder = join(home, document.replace(/\W/g, '-'))
    if (document === 'docs/cli.md') {
      // The files that its examples name.
      lines.unshift(
        'entrepot init . > /dev/null',
        'mv listing.example.yaml listings.yaml',
        'entrepot secret > seller.key',
        'chmod 600 seller.key',
      )
    }
    const stdout = await runAll(t, home, folder, lines)
    statuses.push(...[...stdout.matchAll(/^(\d{3} [A-Z]+ http.*)$/gm)].map(([line]) => line))
  }
  t.deepEqual([...skipped].sort(), Object.keys(NOT_RUN).sort())
  t.deepEqual(
    statuses.filter((line) => !line.startsWith('2')).map((line) => line.replace(/http:\/\/[^/]+|\?.*/g, '')),
    MADE_UP,
  )
})

test('README: signing without a question, and the library from the file that npm packs', (t) => {
  const text = readFileSync('README.md', 'utf8')
  const { name, version, exports } = JSON.parse(readFileSync('package.json', 'utf8'))
  // The shell above has this variable and no terminal, and every command that signs ends with 0.
  t.true(
    text.slice(0, text.indexOf('**An operator**')).includes('`ENTREPOT_KEY_PASSPHRASE_FILE` names a file'),
  )
  t.true(text.includes(`\`npm install ./${name}-${version}.tgz\``))
  const [, imported = ''] = /import \{ createClient \} from '([^']*)'/.exec(text) ?? []
  const built = exports[imported.replace(name, '.')].default as string
  t.true(existsSync(built.replace('dist/', 'src/').replace(/\.js$/, '.ts')), built)
})

test('documents: commands of entrepot in a sentence exist, with their options', (t) => {
  const sections = readFileSync('docs/cli.md', 'utf8').split(/^#+ (?=entrepot |Options)/m)
  const general = sections.find((text) => text.startsWith('Options')) ?? ''
  for (const document of [...DOCUMENTS, 'CONTRIBUTING.md', 'CHANGELOG.md'])
    for (const [span, words = ''] of readFileSync(document, 'utf8').matchAll(/`entrepot\s+([a-z][^`]*)`/g)) {
      const [name, second] = words.split(/\s+/)
      const starts = [`entrepot ${name} ${second}\n`, `entrepot ${name}\n`]
      const known = starts.flatMap((start) => sections.find((text) => text.startsWith(start)) ?? [])[0]
      t.truthy(known, `${document}: ${span}`)
      for (const [option] of words.matchAll(/(?<=\s)--[a-z-]+/g))
        t.true((general + known).includes(option), `${document}: ${span}`)
    }
})
