import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import type { Overrides } from '../../../src/context/process.ts'
import { eventually } from '../../helpers/eventually.ts'
import { listingText } from '../../helpers/fake-registry.ts'
import { patientToml, startFake, startPatientGateway, type UpstreamEntry } from '../../helpers/gateway.ts'
import { send, startRegistry } from '../../helpers/registry.ts'
import { runCli, temporaryFile, temporaryFolder } from '../../helpers/run-cli.ts'
import { ALICE } from '../../helpers/seller.ts'
import { type Answer, idsOf } from '../../helpers/sequence.ts'
import { ed25519Key, walletKey } from '../../helpers/signed-line.ts'
import { authorityEnvironment } from '../../helpers/signed-reader.ts'
import {
  type Fault,
  identityToml,
  pinToml,
  type SignedListing,
  signedSettings,
  startSignedRegistry,
} from '../../helpers/signed-registry.ts'

const WALLET = ALICE.address.toLowerCase()
const SELLER = ed25519Key(Buffer.alloc(32, 5))
const KEY = SELLER.party.identifier
const LISTINGS: readonly SignedListing[] = [
  { listing_id: 'of-wallet', seller: walletKey(ALICE) },
  { listing_id: 'of key', seller: SELLER },
]

const UNCACHED = '[cache]\nfresh_seconds = 0\n'
const REYKJAVIK = 'region=Reykjavik,+IS'

type SignedRegistryState = Awaited<ReturnType<typeof startSignedRegistry>>['state']

type Options = Overrides & {
  more?: readonly UpstreamEntry[]
  /** Pinned of the Registry, whose own key comes first. */
  keys?: (own: string, next: string) => string[]
  /** What the Registry does from the start. */
  state?: Partial<SignedRegistryState>
}

async function start(t: ExecutionContext, options: Options = {}) {
  const { more = [], keys = (own) => [own], state = {}, ...overrides } = options
  const registry = await startSignedRegistry(t, LISTINGS)
  Object.assign(registry.state, state)
  const settings = signedSettings(...keys(registry.identifier, registry.foreign))
  const service = await startPatientGateway(t, [{ name: 'market', url: registry.url, settings }, ...more], {
    ...overrides,
    more: `${identityToml(t)}${UNCACHED}`,
  })
  const listings = async (query = '') => (await service.get(`/listings?${query}`)).json() as Answer
  return { ...service, registry, listings }
}

async function plainUpstream(t: ExecutionContext): Promise<UpstreamEntry> {
  const item = listingText({ listing_id: 'plain', created_at: '2026-11-01T00:00:00' })
  return { name: 'plain', url: (await startFake(t, { items: [item] })).url }
}

test(`signed upstream: pages, filters, publishers and single listings are read`, async (t) => {
  const service = await start(t)
  const { listings, get } = service
  const all = await listings()
  t.deepEqual(idsOf(all), ['of-wallet', 'of key'])
  t.true(all.complete)
  t.deepEqual(
    all.items.map(({ _meta }) => _meta.publisher),
    [WALLET, `ed25519:${KEY}`],
  )
  t.deepEqual(idsOf(await listings(`publisher=${WALLET}`)), ['of-wallet'])
  t.deepEqual(idsOf(await listings(`${REYKJAVIK}&limit=1`)), ['of-wallet'])
  t.deepEqual(idsOf(await listings('region=Oslo,+NO')), [])
  t.is((await get('/listings/of%20key')).status, 200)
  t.is((await get('/listings/absent')).status, 404)
})

const FAULTS: readonly [Fault, reason: string][] = [
  ['foreign key', 'bad_signature'],
  ['unsigned', 'bad_signature'],
  ['changed body', 'bad_signature'],
  ['changed status', 'bad_signature'],
  ['other request', 'bad_signature'],
  ['old', 'bad_signature'],
  ['unsigned 500', 'http_500'],
  ['unsigned 429', 'rate_limited'],
]

for (const [fault, reason] of FAULTS)
  test(`signed upstream: what its key has not signed as this answer is never used: ${fault}`, async (t) => {
    const { listings, get } = await start(t, { more: [await plainUpstream(t)], state: { fault } })
    const answer = await listings()
    t.deepEqual(idsOf(answer), ['plain'])
    t.false(answer.complete)
    t.like(
      answer.sources.find(({ registry: name }) => name === 'market'),
      { state: 'unavailable', reason },
    )
    t.is((await get('/listings/absent')).status, 502)
  })

test('signed upstream: a second pinned key answers while the Registry changes its key', async (t) => {
  const { listings } = await start(t, { keys: (own, next) => [own, next], state: { fault: 'foreign key' } })
  t.deepEqual(idsOf(await listings()), ['of-wallet', 'of key'])
})

test('signed upstream: a row that its Registry cannot serve is stepped over', async (t) => {
  const { listings } = await start(t, { state: { poisoned: 'of-wallet' } })
  const answer = await listings()
  t.deepEqual(idsOf(answer), ['of key'])
  t.true(answer.complete)
  t.like(answer.sources[1], { registry: 'market', invalid: 1 })
})

test('signed upstream: the same listing of a plain Registry is one with it', async (t) => {
  const plain = await startFake(t, {
    items: [
      listingText({ listing_id: 'of-wallet', publisher_id: 9, storefront_url: 'http://storefront.example/' }),
    ],
    publishers: [[9, WALLET, 'http://storefront.example/']],
  })
  const { listings } = await start(t, { more: [{ name: 'plain', url: plain.url }] })
  const { items } = await listings()
  t.deepEqual(
    items.map(({ listing_id, _meta: { registry, also_in } }) => [listing_id, registry, also_in]),
    [
      ['of-wallet', 'market', ['plain']],
      ['of key', 'market', []],
    ],
  )
})

test('check: names how many keys of a signed upstream are pinned, and what to do with the second', async (t) => {
  const { url, identifier, foreign } = await startSignedRegistry(t, LISTINGS)
  const check = async (...keys: string[]) => {
    const toml = patientToml([{ name: 'market', url, settings: signedSettings(...keys) }], identityToml(t))
    const env = { ENTREPOT_CONFIG: temporaryFile(t, 'gateway.toml', toml), STORE_URL: 'sqlite::memory:' }
    const { stdout } = await runCli(['check'], { env })
    return JSON.parse(stdout).at(-1) as { state: string; finding: string }
  }
  const one = await check(identifier)
  t.is(one.state, 'ok')
  t.regex(one.finding, /^2 open listings, .*; one key is pinned$/)
  const two = await check(identifier, foreign)
  t.is(two.state, 'ok')
  t.regex(
    two.finding,
    /^2 open listings, .*; two keys are pinned: remove the old one when the Registry signs/,
  )
  t.regex((await check(foreign)).finding, /^bad_signature: .*; one key is pinned$/)
})

test('signed Registry: the command line reads one that the buyer file pins, and no answer of another key', async (t) => {
  const { url, identifier, state } = await startSignedRegistry(t, LISTINGS)
  const configOf = (key: string, urls = `"${url}/"`): string =>
    temporaryFile(t, 'buyer.toml', `[registry]\nurls = [${urls}]\n${pinToml(url, key)}`)
  const run = (command: string[], ...of: Parameters<typeof configOf>) =>
    runCli([...command, '--discovery-timeout', '60', '--config', configOf(...of)])
  const { code, stdout } = await run(['listings'], identifier)
  t.is(code, 0)
  t.deepEqual(
    JSON.parse(stdout).map(({ listing_id }: { listing_id: string }) => listing_id),
    ['of-wallet', 'of key'],
  )
  const key = temporaryFile(t, 'buyer.key', Buffer.alloc(32, 9).toString('base64url'))
  t.is((await run(['listing', 'of key', '--identity', key], identifier)).code, 0)
  t.is((await run(['doctor'], identifier)).code, 0)
  state.skewSeconds = 600
  t.regex(
    (await run(['doctor'], identifier)).stdout,
    /our clock is (599|600|601) s behind theirs; at most 300 s are allowed/,
  )
  state.skewSeconds = 0
  const other = await run(['listings'], KEY)
  t.is(other.code, 4)
  t.regex(other.stderr, /bad_signature/)
  const unnamed = await run(['listings'], identifier, '"http://other.example"')
  t.is(unnamed.code, 78)
  t.regex(
    unnamed.stderr,
    /\[registry\.authorities\] http:\/\/127\.0\.0\.1:\d+: no Registry of urls has this URL/,
  )
})

test('signed Registry: a pin holds for every spelling of its URL, or the command line asks for that of the pin', async (t) => {
  const { url: address, identifier, state } = await startSignedRegistry(t, LISTINGS)
  const { port } = new URL(address)
  const pinned = `http://localhost:${port}`
  const config = temporaryFile(
    t,
    'buyer.toml',
    `[registry]\nurls = ["${pinned}"]\n${pinToml(pinned, identifier)}`,
  )
  const read = (url: string) =>
    runCli(['listings', '-r', url, '--discovery-timeout', '60', '--config', config])
  const spellings = [pinned, `${pinned}/`, `http://LOCALHOST:${port}`, `HTTP://localhost:0${port}`]
  for (const url of spellings) t.is((await read(url)).code, 0, url)
  state.fault = 'unsigned'
  for (const url of spellings) {
    const { code, stdout, stderr } = await read(url)
    t.deepEqual([code, stdout], [4, ''], stderr)
  }
  for (const url of [`http://localhost.:${port}`, `${pinned}/.`, pinned.replace('//', '\\\\')]) {
    const { code, stdout, stderr } = await read(url)
    t.deepEqual([code, stdout], [78, ''], url)
    t.true(stderr.includes(`is another spelling of ${pinned}, which [registry.authorities] pins`), stderr)
  }
})

test('identity: a new key is written for its owner only, and shown', async (t) => {
  const file = join(temporaryFolder(t), 'gateway.key')
  for (const scheme of ['ed25519', 'eip191']) {
    const { code, stdout } = await runCli(['identity', 'new', `${file}.${scheme}`, '--scheme', scheme])
    t.is(code, 0)
    t.is(statSync(`${file}.${scheme}`).mode & 0o777, 0o600)
    t.is((await runCli(['identity', 'show', `${file}.${scheme}`])).stdout, stdout)
    t.like(JSON.parse((await runCli(['identity', 'show', `${file}.${scheme}`, '--json'])).stdout), {
      scheme,
      identifier: stdout.trim(),
    })
  }
  t.regex((await runCli(['identity', 'new', `${file}.eip191`])).stderr, /exists, and is not overwritten/)
  t.is((await runCli(['identity', 'show', temporaryFile(t, 'k', 'seed')])).code, 78)
})

test('signed upstream: the keys of a Registry and of the gateway are changed without an incomplete answer', async (t) => {
  const registry = await startSignedRegistry(t, LISTINGS)
  const file = temporaryFile(t, 'gateway.key', Buffer.alloc(32, 7).toString('base64url'))
  const toml = (...identifiers: string[]): string => {
    const settings = signedSettings(...identifiers)
    const identity = `[gateway.identity]\nscheme = "ed25519"\nkey_file = "${file}"\n${UNCACHED}`
    return patientToml([{ name: 'market', url: registry.url, settings }], identity)
  }
  const { identifier: old, foreign: next, state } = registry
  const environment: Record<string, string> = { REGISTRY_ADMIN_API_KEY: 'operator' }
  const { get, url, setGatewayFile } = await startRegistry(t, { toml: toml(old), environment })
  const reload = async (text: string) => {
    setGatewayFile(text)
    const headers = { Authorization: 'Bearer operator' }
    return (await send(`${url}/admin/reload`, { method: 'POST', headers })).json()
  }
  const isWhole = async (query: string) => {
    const answer = (await get(`/listings?${query}`, { 'Cache-Control': 'no-cache' })).json() as Answer
    t.deepEqual([answer.complete, idsOf(answer)], [true, ['of-wallet', 'of key']], query)
  }
  const caller = (): string => state.callers.at(-1)?.party.identifier ?? ''
  await isWhole('limit=10')
  // The Registry: both keys are pinned while it changes its own.
  t.like(await reload(toml(old, next)), { upstreams: { changed: ['market'] }, changed: [] })
  await isWhole('limit=11')
  state.fault = 'foreign key'
  await isWhole('limit=12')
  t.like(await reload(toml(next)), { upstreams: { changed: ['market'] }, changed: [] })
  await isWhole('limit=13')
  // The gateway: its file is replaced, and read again.
  t.is(caller(), ed25519Key(Buffer.alloc(32, 7)).party.identifier)
  writeFileSync(file, Buffer.alloc(32, 8).toString('base64url'))
  t.like(await reload(toml(next)), { upstreams: { changed: [] }, changed: ['gateway.identity'] })
  await eventually('it is asked with the new key', async () => {
    await isWhole('limit=14')
    return caller() === ed25519Key(Buffer.alloc(32, 8)).party.identifier
  })
  t.deepEqual((await reload(toml(next))).changed, [])
  Object.assign(environment, authorityEnvironment(t))
  t.deepEqual((await reload(toml(next))).changed, ['REGISTRY_AUTHORITY_…'])
})
