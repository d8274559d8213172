import test, { type ExecutionContext } from 'ava'
import { runProcess, TIME_LAPSE, temporaryFile } from '../../helpers/run-cli.ts'
import { startPublisher, type WriteAnswer } from '../../helpers/scripted-publisher.ts'
import { AS_ALICE } from '../../helpers/seller.ts'

type Result = { listing_id: string; outcome: string; status: number | null; error?: string }

const listingFile = (t: ExecutionContext, count: number, storefrontOf?: (n: number) => string): string =>
  temporaryFile(
    t,
    'listings.json',
    JSON.stringify(
      Array.from({ length: count }, (_, n) => ({
        listing_id: `l${n}`,
        ...(storefrontOf === undefined ? {} : { storefront_url: storefrontOf(n) }),
      })),
    ),
  )

const hurried = (...args: string[]) => runProcess(args, { env: { ...AS_ALICE, ...TIME_LAPSE } })

test.serial('publish: waits for Retry-After, then signs again', async (t) => {
  const { url, requests } = await startPublisher(t, (_signed, n) => (n < 5 ? [429, '60'] : [201]))
  const { code, stderr } = await hurried('publish', listingFile(t, 1), '-r', url)
  t.is(code, 0)
  t.is(requests.length, 6)
  requests.slice(1).forEach(({ timestamp, signature }, n) => {
    t.true(timestamp >= requests[n]!.timestamp + 60)
    t.not(signature, requests[n]!.signature)
  })
  t.regex(stderr, /waiting 60 s.*HTTP 429: scripted/)
})

for (const retryAfter of [undefined, '0', '-5', 'soon'])
  test.serial(
    `publish: where Retry-After is ${retryAfter ?? 'absent'}, waits a second, doubled each time`,
    async (t) => {
      const { url, requests } = await startPublisher(t, (_signed, n) => (n < 4 ? [429, retryAfter] : [201]))
      const { code } = await hurried('publish', listingFile(t, 1), '-r', url)
      t.is(code, 0)
      const waits = requests.slice(1).map(({ timestamp }, n) => timestamp - requests[n]!.timestamp)
      t.deepEqual(
        waits.map((seconds, n) => seconds >= 2 ** n && seconds <= 2 ** n + 1),
        [true, true, true, true],
        waits.join(),
      )
    },
  )

test.serial(
  'publish: a Registry that only refuses by its rate limit is skipped after ten minutes',
  async (t) => {
    const { url, requests } = await startPublisher(t, () => [429, '60'])
    const { code, stderr } = await hurried('publish', listingFile(t, 50), '-r', url)
    t.is(code, 4)
    t.regex(stderr, /4\d listings not sent: skipped after 10 min of its rate limit/)
    t.true(requests.length < 60, String(requests.length))
  },
)

test.serial('publish: Retry-After may be a date, and --quiet waits without a word', async (t) => {
  const date = new Date(Date.now() + 100_000).toUTCString()
  const { url, requests } = await startPublisher(t, (_signed, n) => (n < 1 ? [429, date] : [201]))
  const { code, stderr } = await hurried('publish', listingFile(t, 1), '-r', url, '--quiet')
  t.deepEqual([code, stderr], [0, ''])
  t.true(requests[1]!.timestamp * 1000 >= Date.parse(date))
})

test.serial('publish: 300 listings pass a limit of 9 a minute in the default deadline', async (t) => {
  let tokens = 9
  let latest = 0
  const { url, requests } = await startPublisher(t, ({ timestamp }) => {
    if (latest > 0) tokens = Math.min(9, tokens + Math.max(0, timestamp - latest) * 0.15)
    latest = Math.max(latest, timestamp)
    if (tokens < 1) return [429, '20']
    tokens--
    return [201]
  })
  const { code, stdout, stderr } = await hurried('publish', listingFile(t, 300), '-r', url)
  t.is(code, 0, stderr)
  t.is((JSON.parse(stdout) as Result[]).length, 300)
  t.true(requests.length < 600)
  t.regex(stderr, /waiting 20 s.*\d+ of 300 done/)
  t.true(stderr.split('\n').length < 40)
})

test.serial('publish: a repeated request keeps its signature for four minutes', async (t) => {
  const { url, requests } = await startPublisher(t, (_signed, n) =>
    n === 0 ? [503, '200'] : n === 1 ? [503, '60'] : [201],
  )
  t.is((await hurried('publish', listingFile(t, 1), '-r', url)).code, 0)
  t.is(requests.length, 3)
  t.deepEqual(requests[1], requests[0])
  t.true(requests[2]!.timestamp >= requests[0]!.timestamp + 260)
})

test.serial('publish: stops when a wait would exceed the deadline', async (t) => {
  const { url, requests } = await startPublisher(t, () => [429, '100'])
  const { code, stdout } = await hurried('publish', listingFile(t, 50), '-r', url, '--deadline', '250')
  t.is(code, 4)
  const results: Result[] = JSON.parse(stdout)
  t.is(results.length, 50)
  t.deepEqual(
    results.filter(({ error }) => !/--deadline of 250 s/.test(error ?? '')),
    [],
  )
  t.true(results.some(({ outcome, status }) => outcome === 'refused' && status === 429))
  t.true(results.some(({ outcome, status }) => outcome === 'not_sent' && status === null))
  t.true(requests.length <= 12, String(requests.length))
})

test.serial('publish: a lost answer is reported as lost after the deadline', async (t) => {
  const othersAnswered = Promise.withResolvers<void>()
  let others = 0
  const { url } = await startPublisher(t, async ({ listing_id }) => {
    if (listing_id !== 'l0') {
      if (++others === 3) setImmediate(() => setImmediate(othersAnswered.resolve))
      return [429, '1000']
    }
    await othersAnswered.promise
    return 'reset'
  })
  const { stdout } = await hurried('publish', listingFile(t, 4), '-r', url, '--deadline', '250')
  const [first, ...limited] = JSON.parse(stdout) as Result[]
  t.regex(first?.error ?? '', /connection_reset/)
  t.deepEqual([...new Set(limited.map(({ status }) => status))], [429])
})

test.serial('publish: each second is signed for one storefront, and none is in the past', async (t) => {
  const { url, requests } = await startPublisher(t, () => [201])
  const start = Math.floor(Date.now() / 1000)
  const storefrontOf = (n: number): string => `https://${n % 310}.example/`
  const { code } = await hurried('publish', listingFile(t, 400, storefrontOf), '-r', url)
  t.is(code, 0)
  const bySecond = Map.groupBy(requests, ({ timestamp }) => timestamp)
  t.true([...bySecond.keys()].every((second) => second >= start))
  for (const group of bySecond.values()) t.is(new Set(group.map((one) => one.storefront_url)).size, 1)
})

test.serial('publish: a file with more storefronts than seconds ends at the deadline', async (t) => {
  const { url, requests } = await startPublisher(t, () => [201])
  const file = listingFile(t, 200, (n) => `https://${n}.example/`)
  const { code, stdout } = await hurried('publish', file, '-r', url, '--deadline', '30')
  t.is(code, 3)
  const accepted = (JSON.parse(stdout) as Result[]).filter(({ outcome }) => outcome === 'accepted').length
  t.is(accepted, requests.length)
  t.true(accepted >= 60 && accepted < 150, String(accepted))
})

test.serial('update: a 409 is signed again in the next second, once', async (t) => {
  const { url, requests } = await startPublisher(t, (_signed, n) => (n === 0 ? [409] : [200]))
  t.is((await hurried('update', 'x', '--status', 'closed', '-r', url)).code, 0)
  t.true(requests[1]!.timestamp > requests[0]!.timestamp)
  const used = await startPublisher(t, () => [409])
  t.is((await hurried('update', 'x', '--status', 'closed', '-r', used.url)).code, 65)
  t.is(used.requests.length, 2)
})

test.serial('delete: a 404 is a success only behind an attempt that may have been applied', async (t) => {
  for (const [first, code] of [
    [[404], 1],
    [[429, '1'], 1],
    [[500, '1'], 1],
    [[503, '1'], 0],
    ['reset', 0],
  ] as const satisfies readonly (readonly [WriteAnswer, number])[]) {
    const { url } = await startPublisher(t, (_signed, n) => (n === 0 ? first : [404]))
    const run = await hurried('delete', 'x', '-r', url)
    const [result] = JSON.parse(run.stdout) as Result[]
    t.deepEqual([run.code, result?.outcome], [code, code === 0 ? 'accepted' : 'refused'], `${first}`)
  }
})

test.serial('update: a write that a store answered too late (503) may have been applied', async (t) => {
  const away = await startPublisher(t, () => [503, '1'])
  const { code, stdout } = await hurried('update', 'x', '--status', 'closed', '-r', away.url)
  t.is(code, 4)
  t.like((JSON.parse(stdout) as Result[])[0], { outcome: 'unknown', status: 503 })
})
