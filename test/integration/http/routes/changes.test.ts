import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { openSqliteStore } from '../../../../src/store/sqlite/store.ts'
import type { Store } from '../../../../src/store/store.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { idOf, listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { comparable, Follower } from '../../../helpers/follower.ts'
import { startFake, startPatientGateway } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { FIXED_TIME, type Market, openMarket } from '../../../helpers/market.ts'
import { send } from '../../../helpers/registry.ts'
import { ALICE, BOB, mintKey, publish } from '../../../helpers/seller.ts'

const OFFER = { offer_resource: { gpu_model: 'H200', gpu_count: 8 }, storefront_url: 'https://alice.example' }

/** Waits until the follower's map is what a reading has now. */
const caughtUp = (follower: Follower, limit?: number) =>
  eventually('caught up', async () => {
    await follower.catchUp(limit)
    const { map } = await follower.read()
    return JSON.stringify(comparable(follower.map)) === JSON.stringify(comparable(map))
  })

test('changes: a reader of a Registry has what a reading has, through publishes, updates, removals and moves', async (t) => {
  const market = await openMarket(t)
  const all = new Follower(market, { isPlain: true })
  const h100s = new Follower(market, { isPlain: true, query: 'gpu_model=H100' })
  await all.begin()
  await h100s.begin()
  await market.publish({ listing_id: 'a', ...OFFER })
  await market.publish({ listing_id: 'b', ...OFFER, offer_resource: { gpu_model: 'H100' } }, FIXED_TIME + 1)
  await caughtUp(all)
  t.deepEqual([...all.map.keys()], ['a', 'b'])
  const [first] = all.changes
  t.like(first, { type: 'listing', listing_id: 'a', publisher: ALICE.address.toLowerCase() })
  t.like(first, { key: `${ALICE.address.toLowerCase()}/a` })
  await caughtUp(h100s)
  t.deepEqual(
    h100s.changes.map((change) => 'listing_id' in change && change.listing_id),
    ['b'],
  )

  await market.publish({ listing_id: 'b', ...OFFER }, FIXED_TIME + 2)
  await caughtUp(h100s)
  t.like(h100s.changes.at(-1), { type: 'removed', listing_id: 'b' })
  await market.publish({ listing_id: 'b', ...OFFER, storefront_url: 'https://moved.example' }, FIXED_TIME + 3)
  await caughtUp(all)
  t.deepEqual(
    [...all.map.values()].map(({ storefront_url }) => storefront_url),
    Array(2).fill('https://moved.example'),
  )
  await caughtUp(h100s)
  await market.update('a', { status: 'closed' }, FIXED_TIME + 4)
  await market.remove('b', FIXED_TIME + 5)
  await caughtUp(h100s)
  await market.publish({ listing_id: 'b', ...OFFER }, FIXED_TIME + 6, BOB)
  await caughtUp(all, 1)
  t.deepEqual([...all.map.keys()], ['b'])
  await caughtUp(h100s)
  t.is(h100s.changes.length, 2, 'a reader is not sent what its query never showed')
  t.is(all.readings + h100s.readings, 2)
})

test('changes: a position is good for its query only, and says so', async (t) => {
  const { publish, get } = await openMarket(t)
  const now = (await get('/changes')).json()
  t.like(now, { changes: [], more: false, complete: true })
  t.deepEqual(now.sources, [{ registry: 'local', state: 'loaded' }])
  const position = now.position as string
  await publish({ listing_id: 'a', ...OFFER })
  const status = async (query: string) => (await get(`/changes?${query}`)).status
  t.is(await status(`since=${position}`), 200)
  t.is(await status(`since=${position}&gpu_model=H200`), 410)
  t.is(await status(`since=${position}&status=`), 410)
  t.is(await status('since=AAAA'), 410)
  t.is(await status(`since=${'A'.repeat(5000)}`), 400)
  t.is(await status('since=not+a+position'), 400)
  t.is(await status('since='), 400)
  t.is(await status('limit=0'), 422)
  t.is(await status('limit=1001'), 422)
  t.is(await status('nonsense=1'), 400)
  const gone = await get(`/changes?since=${position}&status=`)
  t.regex(String(gone.json().detail), /read GET \/listings again/)
})

test('changes: a position of one replica is good at another that has not read so far yet', async (t) => {
  const store = openSqliteStore(':memory:')
  const one = await openMarket(t, { store })
  // It misses every notification, and its clock never comes to its next look.
  const other = await openMarket(t, { store: deaf(store), clock: manualClock() })
  const before = String((await other.get('/changes')).json().position)
  await one.publish({ listing_id: 'a', ...OFFER })
  const { position } = await eventually(
    'logged',
    async () => (await one.get(`/changes?since=${before}`)).json(),
    ({ changes }) => Object(changes).length === 1,
  )
  t.deepEqual((await other.get(`/changes?since=${before}`)).json().changes, [], 'it is behind')
  const reply = await other.get(`/changes?since=${position}`)
  t.deepEqual([reply.status, reply.json().changes], [200, []])
  const { changes } = (await other.get(`/changes?since=${before}`)).json() as { changes: object[] }
  t.like(changes, [{ type: 'listing', listing_id: 'a' }])
})

/** The store of a replica that misses every notification. */
const deaf = (store: Store): Store =>
  new Proxy(store, {
    get: (target, name: keyof Store) => {
      if (name === 'onChange') return () => () => {}
      if (name === 'feed') return { ...feedOf(target), onAppend: () => () => {} }
      const member = target[name]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })

const feedOf = ({ feed }: Store): Omit<Store['feed'], 'onAppend'> => ({
  append: (changes, options) => feed.append(changes, options),
  read: (after, limit) => feed.read(after, limit),
  renew: (followed) => feed.renew(followed),
})

test('changes: a position of what the store has lost is gone, also once more has changed than before', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'entrepot-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [data, copy] = [join(folder, 'data'), join(folder, 'copy')]
  mkdirSync(data)
  /** What `use` gives, of a Registry that is stopped then. */
  const during = async <Result>(use: (market: Market) => Promise<Result>): Promise<Result> => {
    const closers: (() => unknown)[] = []
    const own = { teardown: (close: () => unknown) => void closers.unshift(close) }
    const environment = { STORE_URL: `sqlite:${join(data, 'entrepot.db')}` }
    try {
      return await use(await openMarket(own as ExecutionContext, { environment }))
    } finally {
      for (const close of closers) await close()
    }
  }
  let second = FIXED_TIME
  const publish = async (market: Market, ids: string[]) => {
    const position = String((await market.get('/changes')).json().position)
    for (const listing_id of ids) t.is((await market.publish({ listing_id, ...OFFER }, second++)).status, 201)
    const read = async () => (await market.get(`/changes?since=${position}`)).json()
    const { position: next } = await eventually(
      'logged',
      read,
      ({ changes }) => Object(changes).length === ids.length,
    )
    return String(next)
  }
  const kept = await during((market) => publish(market, ['a', 'b']))
  cpSync(data, copy, { recursive: true })
  const lost = await during((market) => publish(market, ['c', 'd', 'e']))
  const status = ({ get }: Market, since: string) =>
    get(`/changes?since=${since}`).then((reply) => reply.status)
  t.is(await during((market) => status(market, lost)), 200, 'a restart ends no position')
  rmSync(data, { recursive: true })
  cpSync(copy, data, { recursive: true })
  await during(async (market) => {
    t.is(await status(market, kept), 200)
    t.is(await status(market, lost), 410, 'before')
    await publish(market, ['f', 'g', 'h', 'i', 'j', 'k'])
    t.is(await status(market, kept), 200)
    t.is(await status(market, lost), 410)
  })
})

const REFRESH = 'refresh_seconds = 1\nfull_refresh_seconds = 1'

test('changes: a gateway follows its snapshots, and an anonymous reader learns nothing of a private source', async (t) => {
  const alice = '0x00000000000000000000000000000000000000aa'
  const publishers = [[1, alice]] as const
  const [open, closed] = await Promise.all([
    startFake(t, { items: listingTexts('open', 3), publishers }),
    startFake(t, { items: listingTexts('secret', 3), publishers }),
  ])
  const gateway = await startPatientGateway(
    t,
    [
      { name: 'closed', url: closed.url, settings: `visibility = "private"\npriority = 5\n${REFRESH}` },
      { name: 'open', url: open.url, settings: REFRESH },
    ],
    { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } },
  )
  const { bearer } = await mintKey(gateway.url)
  const [keyless, keyed] = [new Follower(gateway), new Follower(gateway, { headers: bearer })]
  await keyless.begin()
  await keyed.begin()
  t.is(keyless.map.size, 3)
  t.is(keyed.map.size, 6)

  open.items = open.items.slice(1).concat(listingTexts('new', 1))
  await eventually('pulled', async () => {
    await caughtUp(keyless)
    return keyless.map.has(`${alice}/new-0000`)
  })
  t.deepEqual(keyless.changes.map(({ type, ...change }) => [type, 'key' in change && change.key]).sort(), [
    ['listing', `${alice}/new-0000`],
    ['removed', `${alice}/open-0000`],
  ])
  closed.items = [...listingTexts('secret', 1, { max_duration_seconds: 5 }), ...listingTexts('hidden', 1)]
  await eventually('pulled', async () => {
    await caughtUp(keyed)
    return keyed.map.has(`${alice}/hidden-0000`)
  })
  t.is(keyed.map.size, 5)
  await keyless.catchUp()
  t.is(keyless.changes.length, 2)
  t.is((await gateway.get(`/changes?since=${keyed.position}`)).status, 410)
  t.is(keyless.readings + keyed.readings, 2)

  open.script = [{ kind: 'status', status: 500 }]
  const failing = await eventually(
    'failing',
    async () => (await keyless.ask()).json(),
    ({ complete }) => complete === true,
  )
  t.deepEqual(failing.changes, [], 'a source that fails removes nothing')
})

for (const [how, count, gone] of [
  ['a whole pull', 6, ['large-0000']],
  ['a first page', 250, []],
] as const)
  test(`changes: what newer listings of ${how} push out is not removed, and its source is unchecked`, async (t) => {
    const publishers = [[1, ALICE.address.toLowerCase()]] as const
    const items = listingTexts('large', count)
    const large = await startFake(t, { items, publishers, hasCounts: true })
    const small = await startFake(t, { items: items.slice(3, 4), publishers })
    const gateway = await startPatientGateway(t, [
      { name: 'large', url: large.url, settings: `max_listings = 4\n${REFRESH}` },
      { name: 'small', url: small.url },
    ])
    const follower = new Follower(gateway)
    await follower.begin()
    t.is(follower.map.size, 4)
    const left = items.filter((text) => !gone.some((id) => id === idOf(text)))
    large.items = [...listingTexts('new', 3, { created_at: '2027-01-01T00:00:00' }), ...left]
    await eventually('pushed out', async () => {
      await follower.catchUp()
      return follower.changes.length >= 4 + gone.length
    })
    const received = follower.changes.map((change) => {
      if (change.type === 'source') return change
      const { registry, unchecked }: Provenance =
        change.type === 'listing' ? (change.listing._meta as Provenance) : change
      return [change.type, change.listing_id, registry, unchecked]
    })
    t.deepEqual(received.sort(), [
      ['listing', 'large-0003', 'small', ['large']],
      ...[0, 1, 2].map((n) => ['listing', `new-000${n}`, 'large', undefined]),
      // Its source has lost it, which is no doubt of that source.
      ...gone.map((id) => ['removed', id, undefined, undefined]),
    ] as never)
    t.true(follower.map.has(`${ALICE.address.toLowerCase()}/large-0002`))
  })

type Provenance = { registry?: string | undefined; unchecked?: readonly string[] | undefined }

/** A gateway over a source whose pulls the test begins, with what each pull shows. */
async function startPulled(
  t: ExecutionContext,
  { kind = 'registry', ...options }: { kind?: 'registry' | 'gateway'; settings?: string; more?: string },
) {
  const fake = await startFake(t, {
    kind,
    publishers: [
      [1, ALICE.address.toLowerCase()],
      [2, BOB.address.toLowerCase()],
    ],
  })
  const settings = `kind = "${kind}"\nrefresh_seconds = 3600\n${options.settings ?? ''}`
  const upstream = { name: 'up', url: fake.url, settings }
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const gateway = await startPatientGateway(t, [upstream], { environment, more: options.more ?? '' })
  const { bearer } = await mintKey(gateway.url)
  /** Resolves when the log has what the pull has changed. */
  const pull = async (...items: Record<string, unknown>[]) => {
    const all = new Follower(gateway, { headers: bearer })
    await all.begin()
    fake.items = items.map((fields) =>
      listingText({ storefront_url: 'http://storefront.example/', ...fields }),
    )
    const body = { method: 'POST', headers: { Authorization: 'Bearer admin' } }
    await send(`${gateway.url}/admin/sources/up/refresh`, body)
    await eventually('logged', async () => {
      await all.catchUp()
      return all.changes.length > 0
    })
  }
  const changesSince = async (since: unknown, query = '') => gateway.get(`/changes?since=${since}${query}`)
  return {
    ...gateway,
    pull,
    changesSince,
    position: async (query = '') => (await gateway.get(`/changes?${query}`)).json().position,
  }
}

test('changes: what changes in a hidden source moves no position, and is no further change', async (t) => {
  const gateway = await startPulled(t, { settings: 'visibility = "private"' })
  const position = await gateway.position()
  await gateway.pull({ listing_id: 'hidden', publisher_id: 1 })
  t.is((await gateway.changesSince(position)).json().position, position)
  await publish(gateway.url, ALICE, { listing_id: 'own', ...OFFER })
  await eventually(
    'logged',
    async () => Object((await gateway.changesSince(position)).json().changes).length === 1,
  )
  await gateway.pull({ listing_id: 'hidden', publisher_id: 1, max_duration_seconds: 5 })
  t.like((await gateway.changesSince(position, '&limit=1')).json(), { more: false })
})

test('changes: a listing outside of a view that changes twice ends no position', async (t) => {
  const more = '[[views]]\nname = "h100"\nfilter = { gpu_model = "H100" }\n[access]\nanonymous = "h100"\n'
  const gateway = await startPulled(t, { more })
  const version = (max_duration_seconds: number) =>
    gateway.pull({
      listing_id: 'l4',
      publisher_id: 1,
      offer_resource: { gpu_model: 'L4' },
      max_duration_seconds,
    })
  await version(1)
  const position = await gateway.position()
  await version(2)
  await version(3)
  const { status, json } = await gateway.changesSince(position)
  t.is(status, 200)
  t.deepEqual(json().changes, [])
})

test('changes: the copies of one id are read together, however many of them have changed', async (t) => {
  const copies = 32
  const gateway = await startPulled(t, { kind: 'gateway' })
  const version = (max_duration_seconds: number) =>
    gateway.pull(
      ...Array.from({ length: copies }, (_, n) => ({
        listing_id: 'of-many-publishers',
        max_duration_seconds,
        _meta: { registry: 'own', publisher: `0x${String(n).padStart(40, '0')}` },
      })),
    )
  await version(1)
  const position = await gateway.position('gpu_count_min=1')
  await version(2)
  let parsed = 0
  const { parse } = JSON
  JSON.parse = (text, ...reviver) => {
    if (String(text).includes('of-many-publishers')) parsed++
    return parse(text, ...reviver)
  }
  const reply = await gateway.changesSince(position, '&gpu_count_min=1').finally(() => {
    JSON.parse = parse
  })
  t.is(Object(reply.json().changes).length, copies)
  t.true(parsed < 8 * copies, `${parsed}`)
})

/** The lines of a stream as they come. */
async function openStream(t: ExecutionContext, url: string, headers: Record<string, string> = {}) {
  const abort = new AbortController()
  t.teardown(() => abort.abort())
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: abort.signal,
  })
  const stream = { response, abort, text: '', isEnded: false }
  void (async () => {
    for await (const chunk of response.body!) stream.text += Buffer.from(chunk).toString()
    stream.isEnded = true
  })().catch(() => {})
  return stream
}

const idsIn = ({ text }: { text: string }): string[] =>
  [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id!)

const eventsOf = ({ text }: { text: string }) =>
  [...text.matchAll(/^data: (.*)$/gm)].map(
    ([, data]) => JSON.parse(data!) as { type: string; listing_id: string },
  )

test('changes: what is followed is pulled whole as for any reader, so an old listing with new terms comes', async (t) => {
  const clock = manualClock()
  const fake = await startFake(t, { items: listingTexts('a', 300) })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }], { clock })
  const follower = new Follower(service)
  await follower.begin()
  const follow = async (until: () => boolean) => {
    await eventually('followed', async () => {
      clock.advance(15_000)
      await follower.catchUp()
      return until()
    })
  }
  // The pull that the reading has begun is over.
  const pulls = () => fake.requests.filter(({ parameters }) => parameters.get('offset') === '190').length
  await follow(() => pulls() > 1)
  fake.items[250] = listingText({ ...JSON.parse(fake.items[250]!), max_duration_seconds: 60 })
  await follow(() => follower.changes.length > 0)
  t.like(follower.changes, [{ type: 'listing', listing_id: 'a-0250' }])
  t.is(follower.readings, 1)
})

test('changes: a wait ends with a change, or without one in its time', async (t) => {
  const { publish, get } = await openMarket(t)
  const position = String((await get('/changes')).json().position)
  const waiting = get(`/changes?since=${position}`, { Prefer: 'respond-async, wait=600' })
  await publish({ listing_id: 'a', ...OFFER })
  const reply = await waiting
  t.is(reply.headers.get('preference-applied'), 'wait=60')
  const { changes, position: next } = reply.json() as { changes: object[]; position: string }
  t.like(changes[0], { type: 'listing', listing_id: 'a' })
  const idle = await get(`/changes?since=${next}`, { Prefer: 'wait=0' })
  t.is(idle.headers.get('preference-applied'), 'wait=1')
  t.deepEqual(idle.json().changes, [])
})

test('changes: a stream has each change with its position, continues from it, and ends with a drain', async (t) => {
  const market = await openMarket(t)
  const stream = await openStream(t, `${market.url}/changes`)
  t.is(stream.response.headers.get('content-type'), 'text/event-stream')
  t.is(stream.response.headers.get('x-accel-buffering'), 'no')
  await market.publish({ listing_id: 'a', ...OFFER })
  await eventually('sent', () => eventsOf(stream).length === 1)
  const [, position] = idsIn(stream)
  t.regex(stream.text, /^retry: \d+\nid: /)
  stream.abort.abort()
  await market.remove('a', FIXED_TIME + 1)
  const again = await openStream(t, `${market.url}/changes?since=AAAA`, { 'last-event-id': position! })
  await eventually('continued', () => eventsOf(again).length === 1)
  t.like(eventsOf(again)[0], { type: 'removed', listing_id: 'a' })
  market.context.stopReloading()
  await eventually('ended', () => again.isEnded)
  t.regex(again.text, /^: the stream ends/m)
})

test('changes: a stream that is cut before its first event, or was silent for long, continues from its id', async (t) => {
  const clock = manualClock()
  const market = await openMarket(t, { clock })
  const path = `${market.url}/changes?gpu_model=H100`
  const h100 = { ...OFFER, offer_resource: { gpu_model: 'H100' } }
  /** Cuts the stream, publishes a listing, and continues from the last id as a browser does. */
  const cut = async (stream: Awaited<ReturnType<typeof openStream>>, listing_id: string, at: number) => {
    stream.abort.abort()
    await market.publish({ listing_id, ...h100 }, FIXED_TIME + at)
    const again = await openStream(t, path, { 'last-event-id': idsIn(stream).at(-1)! })
    await eventually('continued', () => eventsOf(again).length === 1)
    t.like(eventsOf(again)[0], { type: 'listing', listing_id })
    return again
  }
  const begun = await openStream(t, path)
  await eventually('begun', () => idsIn(begun).length === 1)
  const stream = await cut(begun, 'a', 1)
  clock.advance(15_000)
  await eventually('a comment', () => stream.text.includes('\n:\nid: '))
  await cut(stream, 'b', 2)
})

test('changes: watchers are limited, and a revoked key ends its stream', async (t) => {
  const market = await openMarket(t, {
    toml: '[registry]\nlisting_shape = "off"\n[changes]\nmax_watchers_per_reader = 1',
    environment: { REGISTRY_ADMIN_API_KEY: 'admin', REGISTRY_REQUIRE_READ_API_KEY: 'on' },
  })
  const { bearer, id } = await mintKey(market.url)
  const stream = await openStream(t, `${market.url}/changes`, bearer)
  await eventually('opened', () => stream.text.length > 0)
  const second = await market.get('/changes', { ...bearer, Prefer: 'wait=5' })
  t.is(second.status, 429)
  t.is((await market.get('/changes', bearer)).status, 200, 'reads that do not wait are not watchers')
  const { replicas } = (await market.get('/admin/replicas', { Authorization: 'Bearer admin' })).json()
  t.like(replicas, [{ watchers: 1 }])
  const revoked = await fetch(`${market.url}/admin/api-keys/${id}`, {
    method: 'DELETE',
    headers: { Authorization: 'Bearer admin' },
  })
  t.true(revoked.ok)
  await eventually('ended', () => stream.isEnded)
})

test('changes: a tenth of the watchers stays for readers with keys', async (t) => {
  const market = await openMarket(t, {
    toml: '[registry]\nlisting_shape = "off"\n[changes]\nmax_watchers = 10',
    environment: { REGISTRY_ADMIN_API_KEY: 'admin' },
  })
  const { bearer } = await mintKey(market.url)
  const open = async (headers = {}) => (await openStream(t, `${market.url}/changes`, headers)).response.status
  const anonymous = []
  for (let n = 0; n < 10; n++) anonymous.push(await open())
  t.deepEqual(anonymous, [...Array(9).fill(200), 429])
  t.deepEqual([await open(bearer), await open(bearer)], [200, 429])
})

test('changes: streams that are open for one address leave room for its other answers', async (t) => {
  const market = await openMarket(t, {
    toml: '[registry]\nlisting_shape = "off"\n[changes]\nmax_watchers_per_reader = 200',
  })
  await market.publish({ listing_id: 'a', ...OFFER, demands: [{ text: 'x'.repeat(8000) }] })
  const streams = await Promise.all(Array.from({ length: 150 }, () => openStream(t, `${market.url}/changes`)))
  t.true(streams.every(({ response }) => response.status === 200))
  t.is((await market.get('/listings')).status, 200)
})

test('changes: a reader that has left is no watcher any more, before the next heartbeat', async (t) => {
  const { url } = await openMarket(t, {
    toml: '[registry]\nlisting_shape = "off"\n[changes]\nmax_watchers_per_reader = 1',
    clock: manualClock(),
  })
  const stream = await openStream(t, `${url}/changes`)
  await eventually('opened', () => stream.text.length > 0)
  t.is((await openStream(t, `${url}/changes`)).response.status, 429)
  stream.abort.abort()
  await eventually('left', async () => (await openStream(t, `${url}/changes`)).response.status === 200)
})
