import test from 'ava'
import { deadUrl } from '../../helpers/fake-registry.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { listen } from '../../helpers/listen.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { hasTerminal, runCli, runInTerminal, temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, AS_ALICE, BOB, publish } from '../../helpers/seller.ts'

const ESCROW = `0x${'aa'.repeat(20)}`

const env = AS_ALICE

const listing = (id: string, more: object = {}): Record<string, unknown> => ({
  listing_id: id,
  storefront_url: 'https://alice.example/',
  offer_resource: { gpu_model: 'H200', region: 'California, US', gpu_count: 8, sla: 99.5 },
  accepted_escrows: [{ chain_name: 'base', escrow_address: ESCROW, literal_fields: { token: '0xbb' } }],
  ...more,
})

/** A signature of the same second would be a repetition. */
const BEFORE = { timestamp: Math.floor(Date.now() / 1000) - 60 }

type Row = {
  registry: string
  listing_id: string
  action: string
  status?: string
  changed?: string[]
  outcome?: string
}
const rowsOf = (stdout: string): Row[] => JSON.parse(stdout)
const short = (stdout: string): string[] =>
  rowsOf(stdout).map(({ action, listing_id, changed }) => [action, listing_id, ...(changed ?? [])].join(' '))

test.serial('sync: publishes what changed, closes what is gone, and leaves the rest alone', async (t) => {
  const { url, get } = await startRegistry(t)
  const demands = [{ arbiter: '0xcc' }]
  await publish(url, ALICE, listing('same', { max_duration_seconds: 60 }), BEFORE)
  await publish(url, ALICE, listing('priced', { demands }), BEFORE)
  await publish(url, ALICE, listing('gone'), BEFORE)
  await publish(url, ALICE, listing('oracled', { oracle_address: '0xdd' }), BEFORE)
  await publish(url, ALICE, listing('shut', { status: 'closed' }), BEFORE)
  await publish(url, ALICE, listing('over', { status: 'closed' }), BEFORE)
  await publish(url, BOB, listing('of-bob', { storefront_url: 'https://bob.example/' }), BEFORE)
  const file = temporaryFile(
    t,
    'listings.json',
    JSON.stringify([listing('same'), listing('priced'), listing('oracled'), listing('shut'), listing('new')]),
  )
  const plan = await runCli(['sync', file, '-r', url, '--dry-run'], { env })
  t.is(plan.code, 0, plan.stderr)
  const expected = [
    'publish priced demands',
    'publish shut status',
    'publish new',
    'update oracled oracle_address',
    'close gone status',
  ]
  t.deepEqual(short(plan.stdout), expected)
  t.regex(plan.stderr, /3 to publish, 1 to close, 1 unchanged/)
  t.regex(plan.stderr, /same keeps its max_duration_seconds/)
  t.is((await get('/listings/new')).status, 404)
  const done = await runCli(['sync', file, '-r', url], { env })
  t.is(done.code, 0, done.stderr)
  t.deepEqual(
    rowsOf(done.stdout).map(({ action, listing_id, outcome }) => `${action} ${listing_id} ${outcome}`),
    expected.map((row) => `${row.split(' ').slice(0, 2).join(' ')} accepted`),
  )
  const again = await runCli(['sync', file, '-r', url, '--dry-run'], { env })
  t.deepEqual(rowsOf(again.stdout), [])
  t.notRegex(again.stderr, /buyers do not see/)
  const [shut] = [listing('shut'), listing('gone')].map(({ status: _, ...rest }) => rest)
  const silent = temporaryFile(t, 'silent.json', JSON.stringify([listing('over'), listing('gone'), shut]))
  const hidden = await runCli(['publish', silent, '-r', url], { env })
  t.is(hidden.stderr.split('so buyers do not see it').length, 2, hidden.stderr)
  t.regex(hidden.stderr, /2 listings, such as over: it is closed, so buyers do not see it/)
  const asked = JSON.stringify([listing('over', { status: 'closed' }), listing('gone', { status: 'closed' })])
  const closing = await runCli(['publish', temporaryFile(t, 'asked.json', asked), '-r', url], { env })
  t.notRegex(closing.stderr, /buyers do not see/)
  t.is(((await get('/listings/of-bob')).json().listing as Row & { status: string }).status, 'open')
  const mine = await runCli(['mine', '-r', url], { env })
  t.deepEqual(
    (JSON.parse(mine.stdout) as { listing_id: string; status: string }[])
      .map(({ listing_id, status }) => `${listing_id} ${status}`)
      .toSorted(),
    ['gone closed', 'new open', 'oracled open', 'over closed', 'priced open', 'same open', 'shut open'],
  )
})

test.serial('sync: closes nothing where another write was refused', async (t) => {
  const { url, get } = await startRegistry(t)
  await publish(url, ALICE, listing('gone'), BEFORE)
  await publish(url, BOB, listing('taken', { storefront_url: 'https://bob.example/' }), BEFORE)
  const file = temporaryFile(t, 'listings.json', JSON.stringify([listing('taken'), listing('new')]))
  const { code, stdout, stderr } = await runCli(['sync', file, '-r', url], { env })
  t.is(code, 3)
  t.deepEqual(
    rowsOf(stdout).map(({ action, listing_id, outcome }) => `${action} ${listing_id} ${outcome}`),
    ['publish taken refused', 'publish new accepted', 'close gone not_sent'],
  )
  t.regex(stderr, /1 listing not sent: nothing is closed, since another write failed/)
  t.is(((await get('/listings/gone')).json().listing as { status: string }).status, 'open')
})

test.serial(
  'sync: at a gateway only listings of its own Registry are closed, whatever is away behind it',
  async (t) => {
    const upstream = await startRegistry(t)
    const gateway = await startGateway(t, [
      { name: 'eu', url: upstream.url },
      { name: 'away', url: deadUrl() },
    ])
    await publish(upstream.url, ALICE, listing('elsewhere'))
    await publish(gateway.url, ALICE, listing('here'))
    const file = temporaryFile(t, 'listings.json', JSON.stringify(listing('new')))
    const plan = await runCli(['sync', file, '-r', gateway.url, '--dry-run'], { env })
    t.deepEqual(short(plan.stdout), ['publish new', 'close here status'], plan.stderr)
    const mine = await runCli(['mine', '-r', gateway.url], { env })
    t.deepEqual(
      rowsOf(mine.stdout)
        .map(({ registry, listing_id }) => `${registry.slice(gateway.url.length)} ${listing_id}`)
        .toSorted(),
      ['/eu elsewhere', '/local here'],
    )
  },
)

test.serial('sync: nothing is written where not all of the own listings could be read', async (t) => {
  const writes: string[] = []
  const url = await listen(t, ({ method = '' }, response) => {
    if (method !== 'GET') writes.push(method)
    response.writeHead(500).end()
  })
  const file = temporaryFile(t, 'listings.json', JSON.stringify(listing('new')))
  const { code, stderr } = await runCli(['sync', file, '-r', url], { env })
  t.deepEqual([code, writes], [4, []])
  t.regex(stderr, /nothing is written, since not all of your listings could be read/)
})

test.serial(
  'publish: a listing that does not fit the listing shape is refused without --as-is',
  async (t) => {
    const [one, two] = [await startRegistry(t), await startRegistry(t)]
    const bad = listing('bad', {
      offer_resource: { gpu_model: 'H200', region: 'Iowa, US', gpu_count: 'two' },
    })
    const file = temporaryFile(t, 'listings.json', JSON.stringify([listing('good'), bad]))
    const args = ['publish', file, '-r', `${one.url},${two.url}`]
    const refused = await runCli(args, { env })
    t.deepEqual([refused.code, refused.stdout], [65, ''])
    t.regex(refused.stderr, /bad: offer_resource\.gpu_count: must be integer/)
    t.regex(refused.stderr, /^entrepot: nothing is published: .*--as-is/m)
    t.is((await one.get('/listings/good')).status, 404)
    t.is((await runCli([...args, '--as-is'], { env })).code, 0)
    t.is((await two.get('/listings/bad')).status, 200)
  },
)

test.serial(
  'mine: an export is a file that changes nothing, from all Registries of the wallet',
  async (t) => {
    const [one, two] = [await startRegistry(t), await startRegistry(t)]
    const exact = '{"listing_id":"exact","offer_resource":{"sla":99.0,"serial":9007199254740993}}'
    const first = temporaryFile(
      t,
      'first.json',
      `[${exact},${JSON.stringify(listing('shut', { status: 'closed' }))}]`,
    )
    const both = ['-r', `${one.url},${two.url}`]
    t.is((await runCli(['publish', first, '--as-is', ...both], { env })).code, 0)
    await publish(two.url, ALICE, listing('only'), BEFORE)
    const { code, stdout } = await runCli(['mine', '--export', ...both], { env })
    t.is(code, 0)
    t.true(stdout.includes('"offer_resource":{"sla":99.0,"serial":9007199254740993}'))
    const ids = (JSON.parse(stdout) as Row[]).map(({ listing_id }) => listing_id)
    t.deepEqual(ids.toSorted(), ['exact', 'only', 'shut'])
    t.notRegex(stdout, /publisher_id|_meta|created_at/)
    const file = temporaryFile(t, 'mine.json', stdout)
    const { stderr } = await runCli(['sync', file, '-r', two.url, '--dry-run', '--as-is'], { env })
    t.regex(stderr, /0 to publish, 0 to close, 3 unchanged/)
    await publish(one.url, ALICE, listing('only', { max_duration_seconds: 60 }), BEFORE)
    const differing = await runCli(['mine', '--export', ...both], { env })
    t.regex(differing.stderr, /only: http.* has other terms; those of http.* are later/)
    const down = await runCli(['mine', '--export', '-r', `${one.url},${deadUrl()}`], { env })
    t.deepEqual([down.code, down.stdout], [3, ''])
    t.regex(down.stderr, /nothing is exported: sync with a part of your listings would close the others/)
  },
)

test.serial('close: --all closes every open listing of the wallet, and asks', async (t) => {
  const { url, get } = await startRegistry(t)
  await publish(url, ALICE, listing('a'), BEFORE)
  await publish(url, ALICE, listing('b'), BEFORE)
  await publish(url, BOB, listing('of-bob', { storefront_url: 'https://bob.example/' }), BEFORE)
  const isOpen = async (id: string): Promise<boolean> =>
    ((await get(`/listings/${id}`)).json().listing as { status: string }).status === 'open'
  t.regex((await runCli(['close', '-r', url], { env })).stderr, /write --all to close every listing/)
  const refused = await runCli(['close', '--all', '-r', url], { env })
  t.is(refused.code, 1)
  t.regex(refused.stderr, /this would close 2 of your 2 open listings at http.*--yes, or --max-close 2/)
  const plan = await runCli(['close', '--all', '--dry-run', '-r', url], { env })
  t.deepEqual(short(plan.stdout).toSorted(), ['close a status', 'close b status'])
  t.true(await isOpen('a'))
  const { code, stderr } = await runCli(['close', '--all', '--yes', '-r', url], { env })
  t.is(code, 0, stderr)
  t.regex(stderr, /2 closed at 1 Registry, 0 failed/)
  t.deepEqual([await isOpen('a'), await isOpen('b'), await isOpen('of-bob')], [false, false, true])
  const empty = await runCli(['sync', temporaryFile(t, 'empty.json', '[]'), '-r', url], { env })
  t.regex(empty.stderr, /contains no listing; entrepot close --all closes all of yours/)
})

test.serial('sync, publish: what was done is counted by its kind, and each Registry once', async (t) => {
  const { url } = await startRegistry(t)
  for (const id of ['a', 'b', 'c']) await publish(url, ALICE, listing(id), BEFORE)
  const file = temporaryFile(t, 'listings.json', JSON.stringify([listing('a'), listing('d'), listing('e')]))
  const synced = await runCli(['sync', file, '-r', url, '--yes'], { env })
  t.regex(synced.stderr, /^2 published, 2 closed at 1 Registry, 0 failed, /m)
  const twice = await runCli(['publish', file, '-r', `${url},${url}/`], { env })
  t.regex(twice.stderr, /^6 published at 1 Registry, 0 failed, /m)
})

test.serial('sync: in a pipe closes more than a tenth only up to --max-close', async (t) => {
  const { url, get } = await startRegistry(t)
  const ids = ['a', 'b', 'c', 'd', 'e']
  for (const id of ids) await publish(url, ALICE, listing(id), BEFORE)
  const file = temporaryFile(t, 'listings.json', JSON.stringify([listing('a')]))
  const isOpen = async (id: string): Promise<boolean> =>
    ((await get(`/listings/${id}`)).json().listing as { status: string }).status === 'open'
  for (const more of [[], ['--max-close', '3']]) {
    const { code, stderr } = await runCli(['sync', file, '-r', url, ...more], { env })
    t.is(code, 1)
    t.regex(stderr, /this would close 4 of your 5 open listings at http.*--yes, or --max-close 4/)
    t.true(await isOpen('e'))
  }
  const { code, stderr } = await runCli(['sync', file, '-r', url, '--max-close', '4'], { env })
  t.is(code, 0, stderr)
  t.regex(stderr, /4 closed at 1 Registry, 0 failed/)
  t.false(await isOpen('e'))
})

const withTerminal = hasTerminal ? test.serial : test.skip

withTerminal(
  'sync: a terminal is asked before many listings are closed, and Ctrl-C and Ctrl-D close none',
  async (t) => {
    const { url, get } = await startRegistry(t)
    const ids = ['a', 'b', 'c', 'd', 'e']
    for (const id of ids) await publish(url, ALICE, listing(id), BEFORE)
    const file = temporaryFile(t, 'listings.json', JSON.stringify([listing('a')]))
    const answer = (text: string) =>
      runInTerminal(['sync', file, '-r', url], { env, type: { prompt: '[y/N]', text } })
    const openNow = async () => (await get('/listings?status=open')).json().count
    for (const [text, code] of [
      ['\u0003', 130],
      ['\u0004', 1],
      ['n\r', 1],
    ] as const) {
      const { code: exit, stdout } = await answer(text)
      t.deepEqual([exit, await openNow()], [code, ids.length], stdout)
      t.regex(stdout, /Close 4 of your 5 open listings at http/)
    }
    const yes = await answer('y\r')
    t.deepEqual([yes.code, await openNow()], [0, 1], yes.stdout)
  },
)
