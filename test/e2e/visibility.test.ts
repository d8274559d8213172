import type { RequestListener } from 'node:http'
import test from 'ava'
import { LruCache } from '../../src/cache/lru.ts'
import { openAgentsDoor } from '../../src/context/agents.ts'
import { openFederation } from '../../src/context/gateway.ts'
import type { Reader } from '../../src/domain/api-key.ts'
import type { NamedSource, Page, Source } from '../../src/domain/page.ts'
import { SourceError, type SourceReason } from '../../src/domain/source-error.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'
import { readFilterSpec } from '../../src/filter-spec/load.ts'
import { readUpstreamSpec } from '../../src/filter-spec/upstream-spec.ts'
import { createUpstreamSource, type UpstreamSource } from '../../src/gateway/upstream-source.ts'
import { createApp } from '../../src/http/app.ts'
import { createAuthorize } from '../../src/http/authorize.ts'
import { HotAnswers } from '../../src/http/hot-answers.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import { createRoutes } from '../../src/http/routes.ts'
import { createLogger } from '../../src/log.ts'
import { ApiKeys } from '../../src/registry/api-keys.ts'
import { Replica } from '../../src/registry/replica.ts'
import { openSqliteStore } from '../../src/store/sqlite.ts'
import type { FetchListings } from '../../src/upstream/fetch-listings.ts'
import { type ListingPage, parseListingPage, retainedBytes } from '../../src/upstream/listing-page.ts'
import { readListings } from '../../src/upstream/read-listings.ts'
import { SpecKeeper } from '../../src/upstream/spec-keeper.ts'
import { KEY_READER, pageOf } from '../gateway/gateway-parts.ts'
import { envelopeText, listingText } from '../helpers/fake-registry.ts'
import { type Injected, inject } from '../helpers/inject.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'
import { filterOf, specBody } from '../helpers/specs.ts'
import { upstreamOptions } from '../upstream/upstream-options.ts'

const MIXES = 10_000

/** In every byte that only a private source could have brought: names, ids, offers, filters, schema. */
const MARK = 'hush'
const SPEC = readFilterSpec('config/filter-spec.yaml')

/** What stands behind the two gateways, the very same for both. */
type World = {
  clock: ManualClock
  /** `null` answers, else the way in which it fails. */
  failing: Map<string, SourceReason | null>
  upstreams: UpstreamSource[]
  /** What the sources have said to the question that is put now: both gateways hear the same. */
  said: Map<string, Promise<Page>>
}
type Registry = { options: UpstreamOptions; listings: readonly string[]; spec: object }

/**
 * One gateway has private sources, the other has never heard of them; all else is the same. Whoever has no key must
 * not be able to tell which of the two he is talking to, whatever readers with a key ask meanwhile, whatever is cached
 * and whatever fails.
 */
test(`${MIXES} mixes of readers, questions, cache states and failures leak no byte of a private source`, async (t) => {
  t.timeout(300_000)
  const seed = Number(process.hrtime.bigint() % 2_147_483_647n)
  const random = randomFrom(seed)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  const world = createWorld()
  const full = await openListener(world, () => true)
  const bare = await openListener(world, (name) => !name.includes(MARK))
  let cursors = { full: '', bare: '', keyed: '' }
  let compared = 0
  let private_ = 0

  for (let mix = 0; mix < MIXES; mix++) {
    const told = `mix ${mix} of seed ${seed}`
    const { name } = pick(world.upstreams).source
    if (random() < 0.1) world.failing.set(name, null)
    else if (random() < 0.03) world.failing.set(name, pick(FAILURES))
    if (random() < 0.05) {
      world.clock.advance(pick([400, 1000, 16_000, 80_000, 1_000_000]))
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    world.said.clear()
    const path = pick(PATHS)(pick)
    const headers = pick(HEADERS)
    if (random() < 0.5) {
      const more = pick(KEYED)
      const keyed = more !== '' && path.includes('?') ? `${path}&${more}` : path
      const answer = await inject(full, withCursor(keyed, cursors.keyed), {
        ...headers,
        Authorization: 'Bearer reader',
      })
      cursors = { ...cursors, keyed: cursorIn(answer) ?? cursors.keyed }
      if (answer.body.includes(MARK)) private_++
      continue
    }
    const stolen = random() < 0.1
    const seen = await inject(full, withCursor(path, stolen ? cursors.keyed : cursors.full), headers)
    const plain = await inject(bare, withCursor(path, stolen ? cursors.keyed : cursors.bare), headers)
    t.false(
      `${seen.head}${seen.body}`.replaceAll(ECHOES, '').includes(MARK),
      `${told}: ${path}\n${seen.head}\n${seen.body}`,
    )
    const difference = differenceOf(seen, plain)
    if (difference !== null) return t.fail(`${told}: ${path}\n${difference}`)
    cursors = { ...cursors, full: cursorIn(seen) ?? cursors.full, bare: cursorIn(plain) ?? cursors.bare }
    compared++
  }
  t.true(compared > MIXES / 4, 'enough was compared')
  t.true(private_ > MIXES / 20, 'and there was something to leak')
})

const FAILURES: readonly SourceReason[] = [
  'timeout',
  'connection_refused',
  'http_500',
  'http_503',
  'unauthorized',
  'rate_limited',
  'not_json',
  'bad_envelope',
  'http_404',
]

type Pick = <T>(values: readonly T[]) => T

const IDS = ['pub-a-1', 'both-1', 'clash', `${MARK}-1`, 'local-1', 'nobody']

/** `CURSOR` stands for the cursor that came last. */
const PATHS: readonly ((pick: Pick) => string)[] = [
  () => '/listings?limit=3',
  (pick) => `/listings?limit=${pick(['1', '7', '200'])}&offset=${pick(['0', '2', '9', '1900'])}`,
  () => '/listings?limit=4&cursor=CURSOR',
  () => '/listings?limit=4&cursor=CURSOR',
  (pick) => `/listings?gpu_model=${pick(['H100', 'A100', 'none'])}&limit=5`,
  (pick) => `/listings?explain=true&gpu_model=${pick(['H100', 'none'])}&limit=2`,
  (pick) => `/listings?require=all&limit=${pick(['1', '5'])}`,
  (pick) =>
    `/listings?sources=${pick(['pub-a', 'local,pub-b', `${MARK}-a`, 'nobody', `pub-a,${MARK}-b`])}&limit=3`,
  (pick) => `/listings?status=${pick(['closed', '', 'odd'])}&limit=3`,
  (pick) => `/listings?${pick([`${MARK}_filter`, 'region', 'nothing'])}=x&limit=3`,
  (pick) => `/listings/${pick(IDS)}?`,
  (pick) => `/listings/${pick(IDS)}?registry=${pick(['pub-a', `${MARK}-a`, 'nobody', 'local'])}`,
  () => '/filter-spec',
  () => '/sources',
  () => '/ready',
]

/** What only readers with a key add: it may name what others do not know of. */
const KEYED = ['', '', `sources=local,pub-a,pub-b,${MARK}-a`, 'explain=true', `${MARK}_filter=in:[x]`]

const HEADERS: readonly Record<string, string>[] = [
  {},
  {},
  {},
  { Accept: 'application/x-ndjson' },
  { 'Cache-Control': 'no-cache' },
  { 'Cache-Control': 'only-if-cached' },
  { 'CDN-Loop': 'entrepot' },
  { 'CDN-Loop': 'a, b, c, d' },
  { 'If-None-Match': '*' },
]

const withCursor = (path: string, cursor: string): string => path.replace('CURSOR', cursor)

const cursorIn = ({ body }: Injected): string | null => /"next_cursor":"([^"]+)"/.exec(body)?.[1] ?? null

/** A refusal may repeat what the caller has said himself. */
const ECHOES = new RegExp(`There is no source \\\\"${MARK}-[ab]\\\\"|unknown filter: '${MARK}_filter'`, 'g')

const differenceOf = (seen: Injected, plain: Injected): string | null => {
  const [one, other] = [settled(seen), settled(plain)]
  return one === other ? null : `--- with private sources\n${one}\n--- without\n${other}`
}

/** Without what differs between two answers to one question anyway: the time they took, and sealed cursors. */
const settled = ({ head, body }: Injected): string =>
  `${head}\n\n${body}`
    .replaceAll(/"elapsed_ms":\d+/g, '"elapsed_ms":0')
    .replaceAll(/"next_cursor":"[^"]+"/g, '"next_cursor":"…"')
    .replaceAll(/dur=[\d.]+/g, 'dur=0')
    .replaceAll(/^(Date|Content-Length|X-Request-Id): .*$/gim, '$1: …')

const randomFrom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Two public and two private Registries that share some listings, and differ about others. */
const createWorld = (): World => {
  const registry = (
    options: Partial<UpstreamOptions> & { name: string },
    listings: readonly (readonly [id: string, second: number, storefront?: string, model?: string])[],
  ): Registry => {
    const isPrivate = options.name.includes(MARK)
    const filters = [SPEC.filters.get('gpu_model')!, ...(isPrivate ? [filterOf(`${MARK}_filter`)] : [])]
    const texts = listings.map(([id, second, storefront = 's', model = 'H100']) =>
      listingText({
        listing_id: id,
        created_at: `2026-11-20T10:00:${String(second).padStart(2, '0')}`,
        storefront_url: `http://${storefront}.example/`,
        offer_resource: { gpu_model: model, ...(isPrivate ? { note: MARK } : {}) },
      }),
    )
    const spec = specBody(`etag-${options.name}`, filters, isPrivate ? `${MARK}.schema` : 'vms.compute')
    const visibility = isPrivate ? 'private' : 'public'
    return {
      options: upstreamOptions({ url: `http://${options.name}`, visibility, ...options }),
      listings: texts,
      spec,
    }
  }
  const registries = [
    registry({ name: `${MARK}-a`, priority: 1 }, [
      ['both-1', 58],
      [`${MARK}-1`, 40],
      ['both-2', 31],
      ['clash', 22, MARK],
      [`${MARK}-2`, 3],
    ]),
    registry({ name: 'pub-a', priority: 2 }, [
      ['pub-a-1', 59],
      ['both-1', 45],
      ['both-2', 44],
      ['clash', 30],
      ['pub-a-2', 20, 's', 'A100'],
      ['shared', 10],
    ]),
    registry({ name: 'pub-b', priority: 3 }, [
      ['both-1', 57],
      ['shared', 50],
      ['pub-b-1', 33],
      ['pub-b-2', 5, 't'],
    ]),
    registry({ name: `${MARK}-b`, priority: 4 }, [
      ['shared', 55],
      ['pub-b-1', 33, 's', 'A100'],
      [`${MARK}-3`, 32],
      ['local-1', 12],
    ]),
  ]
  const world: World = { clock: manualClock(), failing: new Map(), upstreams: [], said: new Map() }
  for (const one of registries) world.upstreams.push(sharedUpstream(world, one))
  return world
}

/** One upstream with one cache and one breaker, whichever gateway asks. */
const sharedUpstream = (world: World, registry: Registry): UpstreamSource => {
  const upstream = openUpstream(world, registry)
  const { ask } = upstream.source
  const askOnce: Source = (query, signal) => {
    const { caching, criteria, ...rest } = query
    const key = JSON.stringify([registry.options.name, caching, criteria.length, rest])
    const said = world.said.get(key) ?? ask(query, signal)
    world.said.set(key, said)
    return said
  }
  return { ...upstream, source: { ...upstream.source, ask: askOnce } }
}

/** The service in front of those Registries that it knows, all of it but sockets and store. */
const openListener = async (world: World, knows: (name: string) => boolean): Promise<RequestListener> => {
  const { clock } = world
  const upstreams = world.upstreams.filter(({ source }) => knows(source.name))
  const texts = [
    listingText({
      listing_id: 'local-1',
      created_at: '2026-11-20T10:00:12',
      storefront_url: 'http://s.example/',
    }),
  ]
  const local: NamedSource = {
    name: 'local',
    visibility: 'public',
    mode: 'local',
    priority: 0,
    ask: async ({ listingId, status, criteria, offset, limit }) => {
      const isMatch =
        listingId === undefined ? status === 'open' && criteria.length === 0 : listingId === 'local-1'
      const found = isMatch ? texts : []
      return { ...pageOf(found.slice(offset, offset + limit), found.length), isCurrent: () => true }
    },
  }
  const config = {
    gateway: { id: 'entrepot', budgetMs: 4000, schema: null },
    cache: { freshSeconds: 15, staleWhileRevalidateSeconds: 60, staleIfErrorSeconds: 900, maxBytes: 2 ** 24 },
    adminKey: 'admin',
  }
  const status = () => ({
    name: 'local',
    mode: 'local' as const,
    visibility: 'public' as const,
    state: 'loaded' as const,
    ageSeconds: 0,
    lastError: null,
    schemaId: null,
    filters: [],
    listings: 1,
  })
  const gateway = openFederation({
    config,
    spec: SPEC,
    local: { source: local, status },
    upstreams,
    clock,
    cursorSecret: 'secret',
  })
  const store = openSqliteStore(':memory:')
  const replica = await Replica.open(store, { filters: [], onFault: () => {} })
  const authorize = createAuthorize({
    requireReadKey: false,
    requireWriteKey: false,
    keysRevealMore: upstreams.some(({ source }) => source.visibility === 'private'),
    isAdminKey: null,
    recognise: (token) => (token === 'reader' ? keyOf(KEY_READER) : null),
  })
  const log = createLogger('silent')
  const hot = new HotAnswers()
  const routes = createRoutes({
    spec: SPEC,
    registry: null,
    keys: new ApiKeys(store, replica),
    gateway,
    agents: openAgentsDoor(gateway, log),
    store,
    metrics: createMetrics(() => gateway.sources),
    metricsPublic: false,
    areTried: () => true,
  })
  const admit = () => null
  const app = createApp({ routes, authorize, log, hot, admit })
  return hot.listener({ authorize, admit, counter: () => () => {} }, app.callback())
}

const keyOf = (reader: Reader) => (reader.kind === 'key' ? reader.key : null)

const openUpstream = (world: World, { options, listings, spec }: Registry): UpstreamSource => {
  const { clock, failing } = world
  const { name } = options
  const fetch: FetchListings = async ({ listingId, status, filters }, offset) => {
    const reason = failing.get(name) ?? null
    if (reason !== null) throw new SourceError(reason, `${name} fails`)
    const model = filters.find(([filter]) => filter === 'gpu_model')?.[1]
    const matching = listings.filter((text) => {
      const listing = JSON.parse(text)
      if (listingId !== undefined) return listing.listing_id === listingId
      return (
        (status === null || status === 'open') &&
        (model === undefined || listing.offer_resource.gpu_model === model)
      )
    })
    return parseListingPage(Buffer.from(envelopeText(matching.slice(offset, offset + 200), matching.length)))
  }
  const known = readUpstreamSpec(Buffer.from(JSON.stringify(spec)))
  return createUpstreamSource({
    upstream: options,
    fetch,
    read: (pages) => readListings(options, pages),
    vocabulary: new SpecKeeper(async () => known, clock),
    schema: null,
    cache: new LruCache<ListingPage>({ maxBytes: 2 ** 22, sizeOf: retainedBytes, now: clock.now }),
    policy: { freshSeconds: 15, staleWhileRevalidateSeconds: 60, staleIfErrorSeconds: 900 },
    budgetMs: 4000,
    clock,
    random: () => 0,
  })
}
