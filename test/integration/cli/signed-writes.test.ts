import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { startRegistry } from '../../helpers/registry.ts'
import { type Run, runCli, temporaryFile, temporaryFolder } from '../../helpers/run-cli.ts'
import { ALICE, ALICE_KEY, AS_ALICE, AS_BOB } from '../../helpers/seller.ts'
import { ed25519Key } from '../../helpers/signed-line.ts'
import { pinToml, startSignedRegistry } from '../../helpers/signed-registry.ts'

const WALLET = ALICE.address.toLowerCase()
const SEED = Buffer.alloc(32, 11)
const SELLER = ed25519Key(SEED).party.identifier

const listing = (listing_id: string, more: object = {}) => ({
  listing_id,
  storefront_url: 'http://storefront.example/',
  offer_resource: { gpu_model: 'H200', region: 'Reykjavik, IS' },
  accepted_escrows: [{ chain_name: 'base', escrow_address: `0x${'1'.repeat(40)}`, literal_fields: {} }],
  demands: [],
  max_duration_seconds: null,
  ...more,
})
const OPTION = {
  option_id: '0'.repeat(64),
  mechanism: 'fiat.stripe.v1',
  asset: 'usd',
  rates: [{ field: 'amount', per: 'hour', value: '250' }],
  params: {},
}

/** A Registry of the signed line, and commands with a buyer file that pins it. */
async function start(t: ExecutionContext, more: readonly string[] = []) {
  const registry = await startSignedRegistry(t)
  const { url, rows } = registry
  const urls = [url, ...more].map((one) => JSON.stringify(one)).join()
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'arkhai'))
  writeFileSync(join(folder, 'arkhai', 'buyer.toml'), `[registry]\nurls = [${urls}]\n${pinToml(url)}`)
  const run = (args: string[], env: Record<string, string> = AS_ALICE): Promise<Run> =>
    runCli(args, { env: { ...env, XDG_CONFIG_HOME: folder } })
  const list = (...listings: object[]) => temporaryFile(t, 'listings.json', JSON.stringify(listings))
  const statuses = async () => (await rows()).map(({ listing_id, status }) => [listing_id, status])
  return { ...registry, run, list, statuses }
}

const resultsOf = ({ stdout }: Run): Record<string, unknown>[] => JSON.parse(stdout)

test('signed writes: publish, update, sync, mine and delete sign for the line of the Registry', async (t) => {
  const { run, list, rows, statuses, state } = await start(t)
  const published = await run(['publish', list(listing('a', { settlement_options: [OPTION] }), listing('b'))])
  t.is(published.code, 0, published.stderr)
  t.regex(published.stderr, new RegExp(`signed by ${WALLET}`))
  t.deepEqual(await statuses(), [
    ['b', 'open'],
    ['a', 'open'],
  ])
  t.deepEqual((await rows())[1]?.settlement_options, [OPTION])
  t.deepEqual(
    new Set(state.callers.map(({ party, role }) => `${role} ${party.scheme} ${party.identifier}`)),
    new Set([`seller eip191 ${WALLET}`]),
  )
  t.is((await run(['update', 'b', '--status', 'closed'])).code, 0)
  t.deepEqual((await statuses())[0], ['b', 'closed'])
  const synced = await run(['sync', list(listing('a', { settlement_options: [OPTION] }), listing('c'))])
  t.is(synced.code, 0, synced.stderr)
  t.regex(synced.stderr, /1 to publish, 0 to close, 1 unchanged/)
  const emptied = await run(['sync', list(listing('a')), '--yes'])
  t.regex(emptied.stderr, /1 to publish, 1 to close, 0 unchanged/)
  t.deepEqual(
    (await rows()).map(({ listing_id, status, settlement_options }) => [
      listing_id,
      status,
      settlement_options,
    ]),
    [
      ['c', 'closed', []],
      ['b', 'closed', []],
      ['a', 'open', []],
    ],
  )
  const mine = await run(['mine', '--json', '--discovery-timeout', '60'])
  t.deepEqual(
    resultsOf(mine)
      .map(({ listing_id }) => listing_id)
      .sort(),
    ['a', 'b', 'c'],
  )
  t.is((await run(['delete', 'c'])).code, 0)
  const foreign = await run(['delete', 'a'], AS_BOB)
  t.is(foreign.code, 77)
  t.regex(foreign.stderr, /Publisher principal does not own listing; it is signed by 0x/)
  t.deepEqual(await statuses(), [
    ['b', 'closed'],
    ['a', 'open'],
  ])
})

test('signed writes: a key of Ed25519 signs for the signed line, and a wallet for both at once', async (t) => {
  const plain = await startRegistry(t)
  const { run, list, rows, state, url } = await start(t, [plain.url])
  const file = list(listing('a', { settlement_options: [OPTION] }))
  const both = await run(['publish', file, '--as-is'])
  t.is(both.code, 0, both.stderr)
  t.regex(
    both.stderr,
    /speaks the plain line, which has no settlement_options: 1 of 1 listings are sent without/,
  )
  const key = temporaryFile(t, 'seller.key', SEED.toString('base64url'))
  const split = await run(['publish', list(listing('b')), '--identity', key, '--as-is'])
  t.is(split.code, 0, split.stderr)
  t.like(state.callers.at(-1), { party: { scheme: 'ed25519', identifier: SELLER }, role: 'seller' })
  t.deepEqual(
    (await rows()).map(({ listing_id, publisher_principals }) => [
      listing_id,
      publisher_principals.identities,
    ]),
    [
      ['b', [{ scheme: 'ed25519', identifier: SELLER }]],
      ['a', [{ scheme: 'eip191', identifier: WALLET }]],
    ],
  )
  t.deepEqual(
    ((await plain.get('/listings')).json() as { items: { listing_id: string }[] }).items.map(
      ({ listing_id }) => listing_id,
    ),
    ['b', 'a'],
  )
  const mine = await run(['mine', '--json', '--identity', key, '-r', url, '--discovery-timeout', '60'])
  t.deepEqual(
    resultsOf(mine).map(({ listing_id }) => listing_id),
    ['b'],
  )
  t.is((await run(['delete', 'b', '--key-file', key, '-r', url], {})).code, 0)
  const refused = await run(['publish', list(listing('c')), '--key-file', key], {})
  t.is(refused.code, 78)
  t.regex(refused.stderr, /speaks the plain line, which takes wallets and no key of ed25519/)
})

test('signed writes: a repeated attempt has the id of the first, so that nothing is written twice', async (t) => {
  const { run, list, state, rows } = await start(t)
  state.fault = 'lost answer'
  t.is((await run(['publish', list(listing('a')), '--as-is'])).code, 0)
  const ids = () =>
    state.callers.flatMap(({ operation, requestId }) => (operation === 'listing.publish' ? [requestId] : []))
  t.is(ids().length, 2)
  t.is(new Set(ids()).size, 1)
  state.fault = 'in progress'
  t.is((await run(['publish', list(listing('b')), '--as-is'])).code, 0)
  t.is(ids().length, 4)
  t.is(new Set(ids()).size, 2)
  t.is((await rows()).length, 2)
  state.fault = 'lost answer'
  t.is((await run(['delete', 'b'])).code, 0)
})

test('signed writes: an answer that the pinned key has not signed is no success', async (t) => {
  const { run, list, state, statuses } = await start(t)
  for (const fault of ['foreign key', 'unsigned', 'changed body', 'other request'] as const) {
    state.fault = fault
    const { code, stdout } = await run(['publish', list(listing('a')), '--as-is'])
    t.not(code, 0, fault)
    t.like(JSON.parse(stdout)[0], { outcome: 'unknown' }, fault)
    t.regex(JSON.parse(stdout)[0].error, /bad_signature/, fault)
  }
  state.fault = null
  state.skewSeconds = 900
  const late = await run(['publish', list(listing('late')), '--as-is'])
  t.regex(late.stderr, /our clock is \d+ s behind theirs; at most 300 s are allowed/)
  state.skewSeconds = 0
  t.deepEqual(await statuses(), [['a', 'open']])
})

test('signed writes: what has no canonical form is refused before anything is sent', async (t) => {
  const { run, state } = await start(t)
  const text = JSON.stringify(listing('large')).replace('"H200"', '9007199254740993')
  const { code, stderr } = await run(['publish', temporaryFile(t, 'large.json', text)])
  t.is(code, 65)
  t.regex(stderr, /large cannot be signed for http.*: 9007199254740993 is beyond the integers of JSON/)
  t.deepEqual(state.seen, [])
})

test('signed Registry: validate sends what its Registry signs, and its verdict is shown', async (t) => {
  const { run, list } = await start(t)
  const { stdout } = await run([
    'validate',
    list(listing('good', { settlement_options: [OPTION] }), listing('bad', { offer_resource: {} })),
    '--json',
    '--discovery-timeout',
    '60',
  ])
  t.deepEqual(
    resultsOf({ stdout } as Run).map(({ listing_id, valid }) => [listing_id, valid]),
    [
      ['good', true],
      ['bad', false],
    ],
  )
})

test('signed Registry: without a pin it is asked plain, and doctor, reads and writes say what to do', async (t) => {
  const { url } = await startSignedRegistry(t)
  const hint =
    /answers signed requests only.*ask its operator for its authority and key, and write \[registry\.authorities\.\\?"http/
  const doctor = await runCli(['doctor', '-r', url, '--discovery-timeout', '60'])
  t.is(doctor.code, 77)
  t.regex(doctor.stdout, hint)
  const read = await runCli(['listings', '-r', url, '--discovery-timeout', '60'])
  t.regex(read.stderr, hint)
  t.is(read.code, 77, 'it does not answer later, either')
  const file = temporaryFile(t, 'l.json', JSON.stringify(listing('a')))
  const env = { ENTREPOT_PRIVATE_KEY: ALICE_KEY }
  t.regex((await runCli(['publish', file, '-r', url, '--as-is'], { env })).stderr, hint)
})
