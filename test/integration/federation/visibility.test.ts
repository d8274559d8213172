import type { RequestListener } from 'node:http'
import test from 'ava'
import { openGateway } from '../../../src/context/gateway.ts'
import { createMcpHandler } from '../../../src/context/listener.ts'
import type { ApiKey } from '../../../src/domain/api-key.ts'
import { TokenTable } from '../../../src/domain/price/token.ts'
import type { Holding } from '../../../src/domain/source/holding.ts'
import type { SourceReason } from '../../../src/domain/source/reasons.ts'
import type { UpstreamOptions } from '../../../src/domain/source/upstream.ts'
import { readFilterSpec } from '../../../src/filter-spec/load.ts'
import { TEXTS } from '../../../src/gateway/vocabulary-report.ts'
import { createApp } from '../../../src/http/app.ts'
import { createMetrics } from '../../../src/http/metrics/metrics.ts'
import { RequestMetrics } from '../../../src/http/metrics/request-metrics.ts'
import { createAuthorize } from '../../../src/http/middleware/gate.ts'
import { createRoutes } from '../../../src/http/routes.ts'
import { Watchers } from '../../../src/http/watchers.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import { createLogger } from '../../../src/log.ts'
import { ApiKeys } from '../../../src/registry/api-keys.ts'
import { Audit } from '../../../src/registry/audit.ts'
import { Blocks } from '../../../src/registry/blocks.ts'
import { KeyUsage } from '../../../src/registry/key-usage.ts'
import { localStatus, ownHolding } from '../../../src/registry/own-holding.ts'
import { Replica } from '../../../src/registry/replica.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { createUpstream, type Upstream, UpstreamState } from '../../../src/upstream/upstream.ts'
import { envelopeText, listingText } from '../../helpers/fake-registry.ts'
import { type Injected, inject } from '../../helpers/inject.ts'
import { type ManualClock, manualClock } from '../../helpers/manual-clock.ts'
import { seededRandom } from '../../helpers/random.ts'
import { runs } from '../../helpers/runs.ts'
import { ScriptedDispatcher, type ScriptedReply } from '../../helpers/scripted-dispatcher.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'
import { publishOf } from '../../helpers/store/subject.ts'
import { upstreamOptions } from '../../helpers/upstream.ts'
import { VOCABULARY } from '../../helpers/vocabulary.ts'

const MIXES = runs(4000)

/** Part of every name, id, offer, filter and schema that only a private source has. No sealed cursor has it by chance. */
const MARK = 'hushhushhush'
const SPEC = readFilterSpec('config/filter-spec.yaml')

/** The sources of both gateways. */
type World = {
  clock: ManualClock
  /** How an upstream fails now; `null`: it works. */
  failing: Map<string, Failure | null>
  upstreams: Upstream[]
  /** With one listing. */
  store: Store
  /** Of the gateway that has private sources. */
  index: CopyIndex
  /** Look-ups and waits of the current query: both gateways get the same. */
  answers: Map<string, unknown>
}
type Registry = {
  options: UpstreamOptions
  listings: readonly string[]
  spec: object
  publishers: readonly object[]
}

/**
 * One gateway has private sources, the other does not; everything else is equal. A reader without a key must not be able to
 * distinguish them, whatever readers with a key query meanwhile, whatever is cached and whatever fails.
 */
test(`visibility: ${MIXES} mixes of readers, queries, caches and failures leak no private byte`, async (t) => {
  t.timeout(600_000)
  const seed = Number(process.env.VISIBILITY_SEED ?? 1)
  const { next: random } = seededRandom(seed)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  const world = await createWorld()
  const full = await openListener(world, () => true)
  const bare = await openListener(world, (name) => !name.includes(MARK))
  let cursors = { full: '', bare: '', keyed: '' }
  let compared = 0
  let private_ = 0
  let disputes = 0

  for (let mix = 0; mix < MIXES; mix++) {
    const place = `mix ${mix} of seed ${seed}`
    const { name } = pick(world.upstreams).source
    if (random() < 0.1) world.failing.set(name, null)
    else if (random() < 0.03) world.failing.set(name, pick(Object.keys(FAILURES) as Failure[]))
    if (random() < 0.05) world.clock.advance(pick([400, 1000, 16_000, 80_000, 1_000_000]))
    // Pulls that readers make due end before the next query.
    for (const { source } of world.upstreams) void source.prepare(undefined, UNENDING)
    await turns(20)
    world.answers.clear()
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
      if (answer.body.includes(`"disputed":["${MARK}-a"]`)) disputes++
      continue
    }
    const stolen = random() < 0.1
    const seen = await inject(full, withCursor(path, stolen ? cursors.keyed : cursors.full), headers)
    const plain = await inject(bare, withCursor(path, stolen ? cursors.keyed : cursors.bare), headers)
    t.false(
      `${seen.head}${seen.body}`.replaceAll(ECHOES, '').includes(MARK),
      `${place}: ${path}\n${seen.head}\n${seen.body}`,
    )
    const difference = differenceOf(seen, plain)
    if (difference !== null) return t.fail(`${place}: ${path}\n${difference}`)
    cursors = { ...cursors, full: cursorIn(seen) ?? cursors.full, bare: cursorIn(plain) ?? cursors.bare }
    compared++
  }
  t.true(compared > MIXES / 4, 'enough was compared')
  t.true(private_ > MIXES / 20, 'and there was something to leak')
  t.true(disputes > MIXES / 100, 'the name of a private source that disputes a listing included')
})

const UNENDING = new AbortController().signal

const FAILURES = {
  timeout: { error: 'UND_ERR_HEADERS_TIMEOUT' },
  connection_refused: { error: 'ECONNREFUSED' },
  http_500: { status: 500 },
  http_503: { status: 503 },
  unauthorized: { status: 401 },
  rate_limited: { status: 429, headers: { 'retry-after': '30' } },
  not_json: { status: 200, body: '<html>' },
  bad_envelope: { status: 200, body: '{}' },
  http_404: { status: 404 },
} as const satisfies Partial<Record<SourceReason, ScriptedReply>>

type Failure = keyof typeof FAILURES

type PickOne = <T>(values: readonly T[]) => T

const IDS = ['pub-a-1', 'both-1', 'clash', `${MARK}-1`, 'local-1', 'unknown']

/** `CURSOR` is replaced by the latest cursor. */
const PATHS: readonly ((pick: PickOne) => string)[] = [
  () => '/listings?limit=3',
  (pick) => `/listings?limit=${pick(['1', '7', '200'])}&offset=${pick(['0', '2', '9', '1900'])}`,
  () => '/listings?limit=4&cursor=CURSOR',
  () => '/listings?limit=4&cursor=CURSOR',
  (pick) => `/listings?gpu_model=${pick(['H100', 'A100', 'none'])}&limit=5`,
  (pick) => `/listings?gpu_model=${pick(['H100', 'none'])}&limit=2`,
  (pick) => `/listings?require=all&limit=${pick(['1', '5'])}`,
  (pick) =>
    `/listings?sources=${pick(['pub-a', 'local,pub-b', `${MARK}-a`, 'unknown', `pub-a,${MARK}-b`])}&limit=3`,
  (pick) => `/listings?status=${pick(['closed', '', 'odd'])}&limit=3`,
  (pick) => `/listings?${pick([`${MARK}_filter`, 'region', 'nothing'])}=x&limit=3`,
  (pick) => `/listings/${pick(IDS)}?`,
  (pick) => `/listings/${pick(IDS)}?registry=${pick(['pub-a', `${MARK}-a`, 'unknown', 'local'])}`,
  () => '/filter-spec',
  () => '/sources',
  () => '/ready',
]

/** Parameters of readers with a key only: they may name private sources. */
const KEYED = ['', '', `sources=local,pub-a,pub-b,${MARK}-a`, `${MARK}_filter=in:[x]`]

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

/** A refusal may repeat the caller's own values. */
const ECHOES = new RegExp(
  `There is no source \\\\"${MARK}-[ab]\\\\"|unknown filter: '${MARK}_filter'|"path":"${MARK}_filter"`,
  'g',
)

function differenceOf(seen: Injected, plain: Injected): string | null {
  const [one, other] = [settled(seen), settled(plain)]
  return one === other ? null : `--- with private sources\n${one}\n--- without\n${other}`
}

/** Without times and sealed cursors, which differ in any two answers. */
const settled = ({ head, body }: Injected): string =>
  `${head}\n\n${body}`
    .replaceAll(/"elapsed_ms":\d+/g, '"elapsed_ms":0')
    .replaceAll(/"next_cursor":"[^"]+"/g, '"next_cursor":"…"')
    .replaceAll(/dur=[\d.]+/g, 'dur=0')
    .replaceAll(/^(Date|Content-Length|X-Request-Id): .*$/gim, '$1: …')

/** Signing address by storefront. */
const SELLERS = [
  ['s', `0x${'1'.repeat(40)}`],
  ['t', `0x${'2'.repeat(40)}`],
  [MARK, `0x${'3'.repeat(40)}`],
] as const

/** Two public and two private Registries that share some listings, and differ about others. */
async function createWorld(): Promise<World> {
  const registry = (
    options: Pick<UpstreamOptions, 'name' | 'priority'>,
    listings: readonly (readonly [id: string, second: number, storefront?: string, model?: string])[],
  ): Registry => {
    const isPrivate = options.name.includes(MARK)
    // A private one has every seller at another storefront, so it disputes the public ones.
    const shop = (name: string) => `http://${isPrivate ? `${MARK}-` : ''}${name}.example/`
    const filters = [SPEC.filters.get('gpu_model')!, ...(isPrivate ? [filterOf(`${MARK}_filter`)] : [])]
    const texts = listings.map(([id, second, storefront = 's', model = 'H100']) =>
      listingText({
        listing_id: id,
        publisher_id: SELLERS.findIndex(([name]) => name === storefront),
        created_at: `2026-11-20T10:00:${String(second).padStart(2, '0')}`,
        storefront_url: shop(storefront),
        offer_resource: { gpu_model: model, ...(isPrivate ? { note: MARK } : {}) },
      }),
    )
    const publishers = SELLERS.map(([storefront, identifier], publisher_id) => ({
      publisher_id,
      storefront_url: shop(storefront),
      identities: [{ scheme: 'eip191', identifier }],
    }))
    return {
      options: upstreamOptions({
        ...options,
        url: `http://${options.name}`,
        visibility: isPrivate ? 'private' : 'public',
      }),
      listings: texts,
      spec: specBody(`etag-${options.name}`, filters, isPrivate ? `${MARK}.schema` : 'vms.compute'),
      publishers,
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
  const index = new CopyIndex([...SPEC.filters.values(), ...TEXTS])
  const store = openSqliteStore(':memory:')
  await store.publish(publishOf('local-1', { storefrontUrl: 'http://s.example/' }))
  const world: World = {
    clock: clockOf(),
    failing: new Map(),
    upstreams: [],
    store,
    index,
    answers: new Map(),
  }
  for (const one of registries) world.upstreams.push(sharedUpstream(world, openUpstream(world, one)))
  for (const { start, ready } of world.upstreams) await start().then(() => ready)
  return world
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A clock that stops; only immediate timers run. */
function clockOf(): ManualClock {
  const clock = manualClock()
  return {
    ...clock,
    after: (ms, act) => {
      if (ms > 0) return clock.after(ms, act)
      const immediate = setImmediate(act)
      return () => clearImmediate(immediate)
    },
  }
}

/** One upstream with one cache and one breaker for both gateways. */
function sharedUpstream(world: World, upstream: Upstream): Upstream {
  const { source } = upstream
  const once = <T>(key: string, answer: () => T): T => {
    if (!world.answers.has(key)) world.answers.set(key, answer())
    return world.answers.get(key) as T
  }
  const find: Holding['find'] = async (question, signal) => {
    const found = once(JSON.stringify([source.name, question]), () => source.find(question, signal))
    found.catch(() => {})
    // So both gateways get the answers in the same order.
    await turns(3)
    return found
  }
  const prepare: Holding['prepare'] = (caching, signal) =>
    once(JSON.stringify([source.name, caching]), () => source.prepare(caching, signal))
  return { ...upstream, source: { ...source, find, prepare } }
}

/** The same upstreams over an index that has never seen a row of the others. */
function mirrored({ index: from, upstreams }: World, to: CopyIndex): Upstream[] {
  const names = new Set(upstreams.map(({ source }) => source.name))
  const numbers = new Map<string, number>()
  const numberOf = (number: number): number => {
    const name = from.about(number).name
    const known = numbers.get(`${number} ${name}`)
    if (known !== undefined) return known
    const added = to.addSource(name)
    numbers.set(`${number} ${name}`, added)
    return added
  }
  const follow = (ids: Iterable<string>): void => {
    for (const id of ids) {
      const copies = from.copiesOf(id).filter(({ source }) => names.has(from.about(source).name))
      const rows = copies.map((copy) => {
        const seller = to.sellers.numberOf(copy, '')
        return { ...copy, source: numberOf(copy.source), seller }
      })
      for (const { source, key } of to.copiesOf(id))
        if (names.has(to.about(source).name) && !rows.some((row) => row.source === source && row.key === key))
          to.remove(source, key)
      for (const row of rows) to.put(row.source, row)
    }
  }
  from.onTouched(follow)
  for (const { source } of upstreams)
    follow([...from.walk(source.rows()!, 'oldest')].map((copy) => copy.listingId))
  return upstreams.map((upstream): Upstream => {
    const { source } = upstream
    const rows = (): number | null => {
      const number = source.rows()
      return number === null ? null : numberOf(number)
    }
    const answer: Holding['answer'] = (query) => {
      const held = source.answer(query)
      return { ...held, source: numberOf(held.source) }
    }
    return { ...upstream, source: { ...source, rows, answer } }
  })
}

/** The service over these Registries, without sockets and store. */
async function openListener(world: World, knows: (name: string) => boolean): Promise<RequestListener> {
  const { clock, store } = world
  const known = world.upstreams.filter(({ source }) => knows(source.name))
  const isBare = known.length < world.upstreams.length
  const index = isBare ? new CopyIndex([...SPEC.filters.values(), ...TEXTS]) : world.index
  const upstreams = isBare ? mirrored({ ...world, upstreams: known }, index) : known
  const config = {
    gateway: { id: 'entrepot', budgetMs: 4000, schema: null },
    cache: { freshSeconds: 15, maxBytes: 2 ** 24 },
    tokens: new TokenTable([]),
    vocabulary: VOCABULARY,
  }
  const replica = await Replica.open(store, {
    index,
    name: 'local',
    vocabulary: VOCABULARY,
    onFault: () => {},
  })
  const gateway = await openGateway({
    config,
    spec: SPEC,
    local: { source: ownHolding('local', replica, clock), status: localStatus('local', SPEC, replica) },
    upstreams,
    index,
    clock,
    cursorSecret: 'admin',
  })
  const authorize = createAuthorize({
    requireReadKey: false,
    requireWriteKey: false,
    keysRevealMore: gateway.readers.keysRevealMore,
    operatorReads: true,
    isMetricsKey: () => false,
    isAdminKey: null,
    recognise: (token) => (token === 'reader' ? KEY : null),
    now: () => clock.now() * 1000,
  })
  const log = createLogger('silent')
  const routes = createRoutes({
    gateway,
    registry: null,
    audit: new Audit(store, { writes: false, retentionDays: 1, maxBytes: 1_000_000 }),
    blocks: new Blocks(store, replica),
    keys: new ApiKeys(store, replica, { trustSeconds: 300, declared: [] }),
    keyUsage: new KeyUsage(null, clock),
    clock,
    watching: {
      watchers: new Watchers({ maxWatchers: 0, maxWatchersPerReader: 0 }),
      maySee: () => true,
      clock: world.clock,
      random: Math.random,
    },
    mcp: createMcpHandler(gateway.market, log),
    store,
    reload: { now: () => Promise.reject(new Error('not here')), preview: () => new Error('not here') },
    metrics: createMetrics('0.0.0'),
    metricsPublic: false,
    readFleet: () => Promise.reject(new Error('not read here')),
    isReady: () => true,
    answersWithoutStore: false,
  })
  const app = createApp({
    routes,
    authorize,
    readerOf: gateway.readers.of,
    log,
    rateLimit: () => null,
    clientAddress: () => 'reader',
    metrics: new RequestMetrics(createMetrics('0.0.0')),
  })
  return app.callback()
}

const KEY: ApiKey = {
  id: 1,
  name: 'reader',
  scope: 'read',
  view: null,
  hash: '00',
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
}

function openUpstream(world: World, registry: Registry): Upstream {
  const { clock, failing } = world
  const { options } = registry
  const agent = new ScriptedDispatcher((url) => {
    // A filter spec is fetched again between the queries of the two gateways.
    const failure = url.pathname === '/filter-spec' ? null : (failing.get(options.name) ?? null)
    return failure === null ? answerOf(registry, url) : FAILURES[failure]
  })
  return createUpstream({
    upstream: options,
    agent,
    state: new UpstreamState(),
    gatewayId: 'entrepot',
    schema: null,
    budgetMs: 4000,
    freshSeconds: 15,
    sharedBreaker: null,
    snapshots: {
      index: world.index,
      storage: null,
      shared: null,
      filters: () => [],
      maxBytes: () => 2 ** 24,
      onResize: () => {},
      inTurn: (work) => work(),
    },
    log: createLogger('silent'),
    clock,
    random: () => 0,
    head: 0,
  })
}

/** The answer of a Registry of the deployed protocol. */
function answerOf({ listings, spec, publishers }: Registry, { pathname, searchParams }: URL): ScriptedReply {
  const ok = (body: object | string): ScriptedReply => ({
    status: 200,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  if (pathname === '/filter-spec') return ok(spec)
  if (pathname === '/publishers') return ok({ items: publishers, count: publishers.length })
  if (pathname !== '/listings') {
    const id = decodeURIComponent(pathname.slice('/listings/'.length))
    const found = listings.find((text) => JSON.parse(text).listing_id === id)
    return found === undefined ? { status: 404, body: '{"detail":"Not Found"}' } : ok(`{"listing":${found}}`)
  }
  const model = searchParams.get('gpu_model')
  const offset = Number(searchParams.get('offset'))
  const matching = listings.filter(
    (text) =>
      ['open', ''].includes(searchParams.get('status') ?? 'open') &&
      (model === null || JSON.parse(text).offer_resource.gpu_model === model),
  )
  const end = offset + Number(searchParams.get('limit'))
  return ok(envelopeText(matching.slice(offset, end), matching.length))
}
