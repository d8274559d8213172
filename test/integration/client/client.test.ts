import test from 'ava'
import { mnemonicToAccount, toAccount } from 'viem/accounts'
import { createClient, IncompleteError, type Listing, ProblemError } from '../../../src/client/client.ts'
import { createSigner } from '../../../src/client/signer.ts'
import { moduleGraph } from '../../../src/http/web/module-graph.ts'
import { type Behaviour, deadUrl, listingTexts } from '../../helpers/fake-registry.ts'
import { startFarCopies } from '../../helpers/far-copies.ts'
import { startFake, startGateway, startUnchecked } from '../../helpers/gateway.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { ALICE } from '../../helpers/seller.ts'
import { startSignedRegistry } from '../../helpers/signed-registry.ts'

const KEY = 'client-'.repeat(8)

async function idsOf(listings: AsyncIterable<Listing>): Promise<string[]> {
  const ids = []
  for await (const { listing_id } of listings) ids.push(listing_id)
  return ids.sort()
}

test('client: known parameters have types of their own beside any filter', (t) => {
  const { listings } = createClient({ url: 'http://127.0.0.1:1' })
  const ask = (...[query]: Parameters<typeof listings>) => query
  t.truthy(
    ask({ sort: 'price', status: '', price_per: 'gb', testnet: true, gpu_modle: 'H100', sla: undefined }),
  )
  // @ts-expect-error an order that does not exist
  t.truthy(ask({ sort: 'cheap' }))
  // @ts-expect-error a status that does not exist
  t.truthy(ask({ status: 'opne' }))
  // @ts-expect-error a unit that does not exist
  t.truthy(ask({ price_per: 'machine' }))
})

test('client: walks a gateway by cursor, and yields each listing once', async (t) => {
  const { fakes, ids } = await startFarCopies(t, 900)
  const upstreams = fakes.map(({ url }, n) => ({ name: `registry-${n}`, url }))
  const { url } = await startGateway(t, upstreams)
  t.deepEqual(await idsOf(createClient({ url }).listings()), [...ids])
})

test('client: walks a plain Registry by offset, with the filters on each page', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 450), prefix: '/registry' })
  const client = createClient({ url: `${fake.url}` })
  t.is((await idsOf(client.listings({ gpu_model: 'RTX 4090', sla: undefined, static_ip: true }))).length, 450)
  t.deepEqual(
    fake.requests.map(({ parameters }) => String(parameters)),
    ['', '&offset=190', '&offset=380'].map((more) => `gpu_model=RTX+4090&static_ip=true&limit=200${more}`),
  )
  const [page] = await Array.fromAsync(client.pages())
  t.like(page, { total: 450, complete: true, sources: [] })
})

test('client: a source that is held in part is reported as that, with its share', async (t) => {
  const client = createClient({ url: (await startUnchecked(t)).url })
  const error = await t.throwsAsync(Array.fromAsync(client.listings()), { instanceOf: IncompleteError })
  t.like(error?.sources[1], { registry: 'large', state: 'partial', held: 100, of: 300 })
  t.regex(error?.message ?? '', /large is held in part: 100 of 300/)
})

test('client: a walk without all sources ends in an error that names the missing ones', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 300) })
  const { url } = await startGateway(t, [
    { name: 'here', url: fake.url },
    { name: 'away', url: deadUrl() },
  ])
  const client = createClient({ url })
  const seen: string[] = []
  const walk = async () => {
    for await (const { listing_id } of client.listings()) seen.push(listing_id)
  }
  const error = await t.throwsAsync(walk, {
    instanceOf: IncompleteError,
    message: /away is unavailable.*refused/,
  })
  t.is(seen.length, 300, 'all listings of the other source')
  t.like(error?.sources, [
    { registry: 'local' },
    { registry: 'here' },
    { registry: 'away', state: 'unavailable' },
  ])
  for await (const { complete, sources } of client.pages())
    t.like({ complete, sources }, { complete: false, sources: { length: 3 } })
  t.like(await client.listing(seen[0]!, { registry: 'here' }), {
    listing: { listing_id: seen[0] },
    complete: true,
  })
  t.false((await client.facets({ by: 'registry' })).complete)
})

test('client: a refusal is a problem with its type, errors and seconds to wait', async (t) => {
  const environment = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: KEY }
  const { url } = await startRegistry(t, { environment, toml: '[limits]\nread_key_per_minute = 3' })
  const problemOf = (pending: Promise<unknown>) => t.throwsAsync(pending, { instanceOf: ProblemError })
  t.like(await problemOf(createClient({ url }).filterSpec()), {
    status: 401,
    type: 'urn:entrepot:problem:unauthorized',
    title: 'Unauthorized',
    detail: 'API key required',
    message: 'API key required',
    retryAfter: null,
  })
  const client = createClient({ url: `${url}/`, apiKey: KEY })
  t.like(await client.filterSpec(), { version: 5, schema: { id: 'vms.compute' } })
  t.like(await problemOf(client.listing('none')), { status: 404, sources: [] })
  t.like(await problemOf(client.facets({ banana: 1 })), { status: 400, detail: "unknown filter: 'banana'" })
  const limited = await problemOf(client.filterSpec())
  t.is(limited?.status, 429)
  t.true(Number(limited?.retryAfter) > 0)
})

test('client: no answer, a redirect and an endless body are problems; a signal ends a call', async (t) => {
  const at = async (behaviour: Behaviour) =>
    createClient({ url: (await startFake(t, { script: [behaviour] })).url, deadlineMs: 60_000 })
  const failing = (client: ReturnType<typeof createClient>, call = {}) =>
    t.throwsAsync(client.pages({}, call).next(), { any: true }) as Promise<ProblemError>
  t.like(await failing(createClient({ url: deadUrl() })), {
    status: 0,
    message: 'The gateway could not be reached.',
  })
  const elsewhere = await startFake(t)
  const location = { Location: `${elsewhere.url}/listings` }
  t.is((await failing(await at({ kind: 'status', status: 302, headers: location }))).status, 0)
  t.is(elsewhere.requests.length, 0)
  t.is((await failing(await at({ kind: 'end_mid_body' }))).status, 0)
  const date = { 'Retry-After': new Date(Date.now() + 90_000_000).toUTCString() }
  const busy = await failing(await at({ kind: 'status', status: 503, headers: date }))
  t.is(Math.ceil((busy.retryAfter ?? 0) / 3600), 25, 'Retry-After may be a date')
  t.regex(
    (await failing(await at({ kind: 'huge', bytes: 17 * 1024 * 1024 }))).message,
    /longer than 16777216 bytes/,
  )
  const patient = createClient({ url: elsewhere.url, deadlineMs: Number.POSITIVE_INFINITY })
  t.is((await patient.pages().next()).value?.total, 0)
  for (const kind of ['hang', 'hang_mid_body'] as const) {
    const client = await at({ kind })
    t.like(await failing(client, { deadlineMs: 1 }), { status: 0, message: 'No answer within 0.001 s.' })
    const reason = new Error('enough')
    t.is(await failing(client, { signal: AbortSignal.abort(reason) }), reason as ProblemError)
  }
})

/** What a wallet elsewhere is to viem: it signs, and has no key here. */
const remote = toAccount({
  address: ALICE.address,
  signMessage: (parameters) => ALICE.signMessage(parameters),
  signTransaction: ALICE.signTransaction,
  signTypedData: ALICE.signTypedData,
})
const words = mnemonicToAccount(`${'test '.repeat(11)}junk`)

test('client: publishes, updates and deletes with any account of viem, several times a second', async (t) => {
  const environment = { REGISTRY_REQUIRE_WRITE_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: KEY }
  const { url } = await startRegistry(t, { environment })
  const client = createClient({ url, apiKey: KEY, account: remote })
  const listing = {
    listing_id: 'a/1 é',
    storefront_url: 'https://seller.example/',
    offer_resource: { gpu_model: 'H200', gpu_count: 8, region: 'California, US' },
    accepted_escrows: [{ chain_name: 'base', escrow_address: '0x1', literal_fields: { token: '0x2' } }],
  }
  t.like(await client.publish(listing), { listing_id: 'a/1 é', status: 'open' })
  t.like(await client.publish({ ...listing, demands: [{}] }), { publisher_id: 1 })
  for (const status of ['closed', 'expired', 'open'] as const)
    t.is((await client.update('a/1 é', { status })).status, status)
  t.is((await client.listing('a/1 é')).listing.offer_resource.gpu_model, 'H200')
  const other = createClient({ url, apiKey: KEY, account: words })
  await t.throwsAsync(other.delete('a/1 é'), { message: 'Invalid signature' })
  t.like(await other.publish({ ...listing, listing_id: 'b' }), { publisher_id: 2 })
  await other.delete('b')
  await t.throwsAsync(createClient({ url, apiKey: KEY }).delete('a/1 é'), { message: /give an account/ })
  await client.delete('a/1 é')
  t.deepEqual(await idsOf(client.listings({ status: '' })), [])
  const page: Behaviour = { kind: 'body', body: '{}' }
  const login = await startFake(t, { script: [page], listingScript: page })
  const elsewhere = createClient({ url: login.url, account: ALICE })
  const message = /not a Registry's answer, which is 20/
  await t.throwsAsync(elsewhere.publish(listing), { message })
  await t.throwsAsync(elsewhere.update('a', { status: 'closed' }), { message })
  await t.throwsAsync(elsewhere.delete('a'), { message })
})

test('client: a URL or key that cannot be sent is refused, and not repeated', (t) => {
  for (const url of ['', 'ftp://a', 'http://user:secret@a'])
    t.notRegex(String(t.throws(() => createClient({ url }), { instanceOf: TypeError })), /secret/)
  const error = t.throws(() => createClient({ url: 'http://a', apiKey: 'the secret\n' }), {
    instanceOf: TypeError,
  })
  t.notRegex(String(error), /secret/)
})

test('client: its modules import no package and nothing of Node', async (t) => {
  const { modules, libraries } = await moduleGraph('client/client')
  t.true(modules.size > 8)
  t.is(libraries.size, 0)
})

test('client: at a Registry of the signed line it signs reads and writes, and takes no answer of another key', async (t) => {
  const { url, state, identifier, foreign } = await startSignedRegistry(t)
  const pinOf = (key: string) => ({ identities: [{ scheme: 'ed25519' as const, identifier: key }] })
  const draft = { offer_resource: { gpu_model: 'H200', region: 'Oslo, NO' }, accepted_escrows: [] }
  for (const [id, key] of [
    ['wallet', ALICE],
    ['hex', `0x${'7'.repeat(64)}`],
    ['key', Buffer.alloc(32, 12).toString('base64url')],
  ] as const) {
    const signer = createSigner(key)
    const client = createClient({ url, signer, pin: pinOf(identifier) })
    await client.publish({ listing_id: id, ...draft })
    t.like(state.callers.at(-1), { party: signer.principal, role: 'seller' })
    t.is((await client.update(id, { status: 'closed' })).status, 'closed')
    const { publisher_principals } = (await client.listing(id)).listing
    t.deepEqual(publisher_principals?.identities, [signer.principal])
    await client.publish({ listing_id: `${id} 2`, ...draft })
    await client.delete(`${id} 2`)
  }
  const signer = createSigner(ALICE)
  const client = createClient({ url, signer, pin: pinOf(identifier) })
  t.deepEqual(await idsOf(client.listings({ status: '' })), ['hex', 'key', 'wallet'])
  t.is((await t.throwsAsync(client.listing('absent'), { instanceOf: ProblemError })).status, 404)
  const other = createClient({ url, signer, pin: pinOf(foreign) })
  const refused = await t.throwsAsync(other.listing('key'), { instanceOf: ProblemError })
  t.regex(
    refused.detail,
    /No answer of a pinned key: the answer is signed by a key that identities do not name/,
  )
  t.throws(() => createClient({ url, signer }), { message: /give both, or neither/ })
  t.throws(() => createClient({ url, signer, pin: { identities: [] } }), { message: /one or two identities/ })
  for (const text of ['secret', '0'.repeat(64), 'f'.repeat(64)])
    t.throws(() => createSigner(text), { message: /expected a private key in hex/ })
})
