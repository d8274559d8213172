import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { deadUrl } from '../../helpers/fake-registry.ts'
import { startServer } from '../../helpers/fixed-answers.ts'
import { startRegistry } from '../../helpers/registry.ts'
import {
  BIN,
  hasTerminal,
  runCli,
  runInTerminal,
  runProcess,
  TIME_LAPSE,
  temporaryFile,
} from '../../helpers/run-cli.ts'
import { startPublisher } from '../../helpers/scripted-publisher.ts'
import { ALICE, AS_ALICE, AS_BOB } from '../../helpers/seller.ts'

type Result = { registry: string; listing_id: string; outcome: string; status: number | null; error?: string }
const parse = (stdout: string): Result[] => JSON.parse(stdout)

function listings(t: ExecutionContext, count: number): string {
  const all = Array.from({ length: count }, (_, n) => ({ listing_id: `l${n}` }))
  return temporaryFile(t, 'listings.json', JSON.stringify(all))
}

/** The executable publishes a file, and its results stream. */
const spawnPublish = (file: string, url: string): ChildProcessWithoutNullStreams =>
  spawn(process.execPath, [BIN, 'publish', file, '-r', url, '--ndjson'], {
    env: { PATH: process.env.PATH, HOME: '/nonexistent', ...AS_ALICE },
  })

const idsOf = (requests: readonly { listing_id: string }[]) => requests.map((one) => one.listing_id)

test.serial('outcomes: a success counts only with the receipt of a Registry', async (t) => {
  const login = '<html>login</html>'
  const portal = await startServer(t, {
    'POST /listings': login,
    'PUT /listings/l0': login,
    'DELETE /listings/l0': login,
  })
  const other = await startServer(t, {
    'POST /listings': [201, '{"listing_id":"l1","publisher_id":1}'],
    'PUT /listings/l0': '{"listing_id":"l0","status":"open"}',
    'PUT /listings/l1': '{"listing_id":"l0","status":"closed"}',
  })
  const moved = (await startPublisher(t, () => [302, { location: 'https://new.example/' }])).url
  const file = listings(t, 1)
  const published = await runCli(['publish', file, '-r', `${portal},${other},${moved}`], { env: AS_ALICE })
  t.is(published.code, 1)
  t.deepEqual(
    parse(published.stdout).map(({ outcome, status }) => [outcome, status]),
    [
      ['invalid_answer', 200],
      ['invalid_answer', 201],
      ['refused', 302],
    ],
  )
  t.regex(published.stderr, /HTTP 200: not a Registry's answer, which is 201 with the listing_id/)
  t.regex(published.stderr, /HTTP 302: redirects to https:\/\/new\.example\/, which is not followed/)
  for (const args of [
    ['update', 'l0', '--status', 'closed', '-r', portal],
    ['update', 'l0', '--status', 'closed', '-r', other],
    ['update', 'l1', '--status', 'closed', '-r', other],
    ['delete', 'l0', '-r', portal],
  ]) {
    const { code, stdout } = await runCli(args, { env: AS_ALICE })
    t.is(code, 4)
    t.is(parse(stdout)[0]?.outcome, 'invalid_answer')
  }
})

test.serial('outcomes: a receipt with very many warnings is a receipt', async (t) => {
  const { url } = await startRegistry(t)
  const escrows = Array.from({ length: 500 }, () => ({}))
  const file = temporaryFile(t, 'l.json', JSON.stringify({ listing_id: 'odd', accepted_escrows: escrows }))
  const { code, stdout } = await runCli(['publish', file, '--as-is', '-r', url], { env: AS_ALICE })
  t.deepEqual([code, parse(stdout)[0]?.outcome], [0, 'accepted'])
})

test.serial('outcomes: integers of any size in an answer are printed as they came', async (t) => {
  const input = '{"detail":[{"loc":["body","oracle_address"],"input":248062349850923485092384509}]}'
  const refusing = await startServer(t, { 'POST /listings': [422, input] })
  const receipt = '{"listing_id":"l0","publisher_id":9007199254740993}'
  const accepting = await startServer(t, { 'POST /listings': [201, receipt] })
  const args = ['publish', listings(t, 1), '-r', `${refusing},${accepting}`]
  for (const format of ['--json', '--ndjson']) {
    const { code, stdout, stderr } = await runCli([...args, format], { env: AS_ALICE })
    t.is(code, 3, stderr)
    t.regex(stdout, /input\\":248062349850923485092384509\}/)
    t.regex(stdout, /"publisher_id": ?9007199254740993\b/)
  }
  const gateway = await startServer(t, { '/sources': '[{"state":"loaded","listings":9007199254740993}]' })
  t.regex((await runCli(['sources', '-r', gateway])).stdout, /"listings": 9007199254740993\b/)
})

test.serial('outcomes: a lost answer is unknown, a refused connection is no answer', async (t) => {
  const { url } = await startPublisher(t, () => null)
  const args = ['publish', listings(t, 1), '-r', `${url},${deadUrl()}`, '--deadline', '1']
  const { code, stdout, stderr } = await runCli(args, { env: AS_ALICE })
  t.is(code, 4)
  t.deepEqual(
    parse(stdout).map(({ outcome }) => outcome),
    ['unknown', 'no_answer'],
  )
  t.regex(stderr, /timeout: .*; it may have been published: run the same command again, that is safe/)
})

test.serial(
  'outcomes: after five failures in a row a Registry is skipped, the rest is counted',
  async (t) => {
    const { url, requests } = await startPublisher(t, ({ listing_id: id }) =>
      id === 'l0' || id === 'l9' ? [201] : [500],
    )
    const { code, stdout, stderr } = await runProcess(['publish', listings(t, 100), '-r', url], {
      env: { ...AS_ALICE, ...TIME_LAPSE },
    })
    t.is(code, 3)
    const unsent = parse(stdout).filter(({ outcome }) => outcome === 'not_sent')
    t.true(unsent.length >= 85, String(unsent.length))
    t.is(new Set(idsOf(requests)).size, 100 - unsent.length)
    const count = `${unsent.length} listings not sent: skipped after 5 failures in a row`
    t.true(stderr.includes(`[registry] ${url}: ${count}`), stderr)
  },
)

test.serial('outcomes: a Registry that does not answer is left after five requests', async (t) => {
  const { url, requests } = await startPublisher(t, () => null)
  const args = ['publish', listings(t, 30), '-r', url, '--timeout', '0.2']
  const { code, stdout, stderr } = await runCli(args, { env: AS_ALICE })
  t.is(code, 4)
  t.true(requests.length <= 8, String(requests.length))
  t.regex(stderr, /2\d listings not sent: skipped after 5 requests in a row without an answer/)
  t.is(parse(stdout).length, 30)
})

test.serial('outcomes: a 503 is one sentence of the Registry, and what to do', async (t) => {
  const detail =
    'The store cannot be used right now (disk full). Nothing was acknowledged; the very same request may be sent again later.'
  const url = await startServer(t, { 'POST /listings': [503, JSON.stringify({ detail })] })
  const { stdout } = await runCli(['publish', listings(t, 1), '-r', url], { env: AS_ALICE })
  t.is(
    parse(stdout)[0]?.error,
    'HTTP 503: The store cannot be used right now (disk full); it may have been published: run the same command again, that is safe',
  )
})

test.serial('outcomes: a wait for the rate limit is one line, and its interrupt says so', async (t) => {
  const { url, requests } = await startPublisher(t, () => [429, '60'])
  const child = spawnPublish(listings(t, 12), url)
  const stdout = text(child.stdout)
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const isWaiting = () => requests.length === 4 && stderr.includes('waiting 60 s')
  await eventually('all connections are refused, and the wait is reported', isWaiting)
  child.kill('SIGINT')
  t.is(await exitCodeOf(child), 130)
  t.is(stderr.split('waiting 60 s, 0 of 12 done').length, 2, stderr)
  const results = (await stdout)
    .trim()
    .split('\n')
    .map((line): Result => JSON.parse(line))
  const refused = results.filter(({ status }) => status === 429)
  t.true(refused.length > 0)
  for (const { error } of refused)
    t.is(error, 'not published (interrupted while it waited for the rate limit)')
})

test.serial('outcomes: refused listings do not end the others', async (t) => {
  const { url } = await startPublisher(t, ({ listing_id: id }) =>
    id === 'l19' ? [201] : [id < 'l5' ? 422 : 403],
  )
  const { code, stdout } = await runCli(['publish', listings(t, 20), '-r', url], { env: AS_ALICE })
  t.is(code, 3)
  t.is(parse(stdout).at(-1)?.outcome, 'accepted')
})

test.serial('outcomes: results stream, SIGINT prints what is done, and --only-failed resumes', async (t) => {
  let isHanging = true
  const { url, requests } = await startPublisher(t, ({ listing_id: id }) =>
    isHanging && id !== 'l0' ? null : [201],
  )
  const file = listings(t, 10)
  const lines = await linesUntil(t, 'SIGINT', spawnPublish(file, url))
  const outcomes = lines.map((line) => (JSON.parse(line) as Result).outcome)
  t.deepEqual([outcomes[0], lines.length], ['accepted', 10])
  t.true(outcomes.includes('unknown') && outcomes.includes('not_sent'))
  isHanging = false
  requests.length = 0
  // The last line may be cut off where the process was killed.
  const results = temporaryFile(t, 'results.ndjson', `${lines.join('\n')}\n{"registry":"`)
  const resume = (failed: string) =>
    runCli(['publish', file, '-r', url, '--only-failed', failed], { env: AS_ALICE })
  const resumed = await resume(results)
  t.is(resumed.code, 0)
  t.deepEqual(idsOf(requests.splice(0)).toSorted(), ['l1', 'l2', 'l3', 'l4', 'l5', 'l6', 'l7', 'l8', 'l9'])
  t.is((await resume(temporaryFile(t, 'results.json', resumed.stdout))).code, 0)
  t.deepEqual(idsOf(requests.splice(0)), ['l0'])
  const closed = JSON.stringify({ registry: url, listing_id: 'l0', action: 'close', outcome: 'accepted' })
  const closing = temporaryFile(t, 'closed.json', `${resumed.stdout.slice(0, -3)},${closed}]`)
  t.is((await resume(closing)).code, 0)
  t.deepEqual(idsOf(requests), ['l0'], 'a listing that was closed since is published')
  t.is((await resume(file)).code, 65)
})

test.serial('outcomes: SIGTERM prints the results so far, too', async (t) => {
  const { url } = await startPublisher(t, ({ listing_id: id }) => (id === 'l0' ? [201] : null))
  t.is((await linesUntil(t, 'SIGTERM', spawnPublish(listings(t, 10), url))).length, 10)
})

/** All results of a process that is ended after its first one. */
async function linesUntil(
  t: ExecutionContext,
  signal: NodeJS.Signals,
  child: ChildProcessWithoutNullStreams,
): Promise<string[]> {
  const stdout = text(child.stdout)
  await once(child.stdout, 'data')
  child.kill(signal)
  t.is(await exitCodeOf(child), 130)
  return (await stdout).trim().split('\n')
}

test.serial('outcomes: writes go on after the reader of stdout or stderr has gone', async (t) => {
  const { url, requests } = await startPublisher(t, () => [201])
  const file = listings(t, 100)
  for (const closed of ['stdout', 'stderr'] as const) {
    requests.length = 0
    const child = spawnPublish(file, url)
    child.stdout.resume()
    child[closed].destroy()
    t.deepEqual([await exitCodeOf(child), new Set(idsOf(requests)).size], [0, 100], closed)
  }
})

const exitCodeOf = async (child: ChildProcess): Promise<unknown> => (await once(child, 'close'))[0]

test.serial('outcomes: a refusal says what to do about keys, wallets and clocks', async (t) => {
  const gated = await startRegistry(t, { environment: { REGISTRY_REQUIRE_WRITE_API_KEY: 'true' } })
  const open = await startRegistry(t)
  const file = listings(t, 1)
  const publish = (url: string, env = {}) =>
    runProcess(['publish', file, '--as-is', '-r', url], { env: { ...AS_ALICE, ...env } })
  t.regex(
    (await publish(gated.url)).stderr,
    /API key required; write \[registry\.auth\] "http:.*" = "KEY" in \/.*buyer\.secrets\.toml/,
  )
  t.is((await publish(open.url)).code, 0)
  const stolen = await runCli(['update', 'l0', '--status', 'closed', '-r', open.url], { env: AS_BOB })
  t.is(stolen.code, 77)
  t.regex(
    stolen.stderr,
    /Invalid signature; it is signed by 0x[0-9a-f]{40}: is that the listing's publisher\?/,
  )
  const late = { NODE_OPTIONS: `--import=data:text/javascript,${LATE}` }
  t.regex((await publish(open.url, late)).stderr, /Timestamp .*; your clock is 60 min behind the Registry's/)
  await runCli(['update', 'l0', '--status', 'closed', '-r', open.url], { env: AS_ALICE })
  const again = await publish(open.url)
  t.regex(again.stderr, /l0: it is closed, so buyers do not see it; entrepot update --status open opens it/)
})

test.serial('outcomes: a refused key is named by its file, for every command', async (t) => {
  const environment = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_REQUIRE_WRITE_API_KEY: 'true' }
  const { url } = await startRegistry(t, { environment })
  const config = temporaryFile(
    t,
    'mine.toml',
    `[registry]\nurls = ["${url}"]\n[registry.auth]\n"${url}" = "old"`,
  )
  for (const args of [['publish', listings(t, 1), '--as-is'], ['mine'], ['listings']]) {
    const { code, stderr } = await runCli([...args, '--config', config], { env: AS_ALICE })
    t.is(code, 77, args[0])
    t.true(stderr.includes(`check its key under [registry.auth] in ${config}`), stderr)
  }
  const { stderr } = await runCli(['listings', '-r', url, '--config', temporaryFile(t, 'other.toml', '')])
  t.regex(stderr, /write \[registry\.auth\] "http:.*" = "KEY" in \/.*other\.toml/)
})

/** A clock one hour behind. */
const LATE = encodeURIComponent('const now = Date.now; Date.now = () => now() - 3600000')

const withTerminal = hasTerminal ? test.serial : test.skip

withTerminal(
  'outcomes: on a terminal each result is one line, and progress is not left behind',
  async (t) => {
    const { url } = await startPublisher(t, ({ listing_id: id }) => (id === 'l1' ? [422] : [201]))
    const { code, stdout } = await runInTerminal(['publish', listings(t, 3), '-r', url], { env: AS_ALICE })
    t.is(code, 3)
    t.is(stdout.split('l1  refused: HTTP 422: scripted').length, 2)
    t.is(stdout.split('HTTP 422').length, 2)
    t.regex(stdout, /l2 {2}published \(open\)/)
    t.true(stdout.includes(`[wallet] signed by ${ALICE.address.toLowerCase()}`))
    t.regex(stdout, /\[listings\] no price: 3 listings, such as l0/)
    const many = await runInTerminal(['publish', listings(t, 21), '-r', url], { env: AS_ALICE })
    t.notRegex(many.stdout, /published \(open\)/)
    t.is(many.stdout.split('l1  refused: HTTP 422: scripted').length, 2)
    t.regex(many.stdout, /20 published at 1 Registry, 1 failed, \d+\.\d s/)
    const quiet = await runInTerminal(['--quiet', 'publish', listings(t, 1), '-r', url], { env: AS_ALICE })
    t.notRegex(quiet.stdout, /wallet/)
  },
)
