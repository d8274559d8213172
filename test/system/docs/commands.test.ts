import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { startDemoMarket } from '../../../demo/market.ts'
import { tour } from '../../../demo/tour.ts'
import { BIN, temporaryFolder } from '../../helpers/run-cli.ts'

/** The other lines of their blocks `sh` are run. Blocks with a mark (`run=`, `env=`) are run in `test/system/ops/`. */
const DOCUMENTS = ['README.md', 'docs/operations.md']
const NOT_RUN: readonly [line: RegExp, reason: string][] = [
  [/^npm ci && npm run demo$/, 'does not end; the market here is that of the demo'],
  [/^npm ci && npm (run )?test/, 'this test is a part of it'],
  [/^entrepot watch /, 'does not end; see test/integration/cli/watch.test.ts'],
  [/docker (build|compose|run) /, 'needs Docker; see .github/workflows/ci.yml'],
]

const BLOCK = /^```sh\n([\s\S]*?)^```$/gm

const linesOf = (document: string): string[] =>
  [...readFileSync(document, 'utf8').matchAll(BLOCK)].flatMap(([, text = '']) =>
    text
      .trim()
      .replaceAll(/ *\\\n */g, ' ')
      .split('\n'),
  )

const commandOf = (line: string): string => line.replace(/ +#.*$/, '')

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

/** Runs the lines in one shell, which stops at the first failure. */
async function runAll(t: ExecutionContext, home: string, folder: string, lines: readonly string[]) {
  mkdirSync(folder)
  const { hostname, port } = new URL(market.gateway)
  const child = spawn(
    'bash',
    ['-exc', lines.join('\n').replaceAll('http://127.0.0.1:8080', market.gateway)],
    {
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
    },
  )
  child.stdout.resume()
  let log = ''
  child.stderr.on('data', (chunk) => (log += chunk))
  const code = await new Promise((resolve) => child.on('close', resolve))
  t.is(code, 0, log.slice(-2000))
}

function createHome(t: ExecutionContext): string {
  const home = temporaryFolder(t)
  writeFileSync(join(home, 'entrepot'), ENTREPOT)
  chmodSync(join(home, 'entrepot'), 0o755)
  writeFileSync(join(home, 'passphrase'), 'correct horse', { mode: 0o600 })
  writeFileSync(join(home, '.curlrc'), 'fail\nshow-error\n')
  return home
}

/** Members of answers that README.md shows, but those of one run: whole, or as far as `…`. */
async function compareAnswers(t: ExecutionContext): Promise<void> {
  const readme = readFileSync('README.md', 'utf8')
  const answers = [
    [/`GET (\/listings\S+)`.*?```jsonc\n(.*?)```/s, { Authorization: `Bearer ${market.readerKey}` }],
    [/^curl -s '\S+?(\/listings\S+)'\n```.*?```json\n(.*?)```/ms, {}],
  ] as const
  for (const [block, headers] of answers) {
    const [, path = '', text = ''] = block.exec(readme) ?? []
    const answer = await fetch(market.gateway + path, { headers })
    const served = membersOf(await answer.text())
    const shown = membersOf(text).filter(
      (member) => !/^"(?:\w+_at|publisher|next_cursor|\w+_(?:seconds|ms))"/.test(member),
    )
    t.true(shown.length > 8, path)
    const isServed = (member: string): boolean =>
      member.endsWith('…"')
        ? served.some((one) => one.startsWith(member.slice(0, -2)))
        : served.includes(member)
    const differ = shown.filter((member) => !isServed(member))
    t.deepEqual(differ, [], path)
  }
  const [, spelled, meant] = /=H100 finds (\d+) listings, gpu=H100 all (\d+)\./.exec(await tour(market)) ?? []
  const totals = ['gpu_model=H100', 'gpu=H100'].map(async (query) => {
    const answer = await fetch(`${market.gateway}/listings?${query}`)
    return String(((await answer.json()) as { total_after_filter: number }).total_after_filter)
  })
  t.deepEqual(await Promise.all(totals), [spelled, meant], 'a visitor sees so many')
}

const membersOf = (json: string): string[] =>
  [...json.matchAll(/("\w+"): ?("[^"]*"|[\w.]+)/g)].map(([, name, value]) => `${name}:${value}`)

test('documents: every command of README.md and docs/operations.md runs, from an empty folder, and answers are those shown', async (t) => {
  await compareAnswers(t)
  const home = createHome(t)
  const skipped = new Set<RegExp>()
  for (const document of DOCUMENTS) {
    const lines = linesOf(document).filter((line) => {
      const [notRun] = NOT_RUN.find(([pattern]) => pattern.test(commandOf(line))) ?? []
      if (notRun !== undefined) skipped.add(notRun)
      return notRun === undefined
    })
    await runAll(t, home, join(home, document.replace(/\W/g, '-')), lines)
  }
  const unused = NOT_RUN.filter(([pattern]) => !skipped.has(pattern))
  t.deepEqual(unused, [])
})
