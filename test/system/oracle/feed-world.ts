import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../../helpers/eventually.ts'
import { type FakeRegistry, listingText, startFakeRegistry } from '../../helpers/fake-registry.ts'
import { freePorts } from '../../helpers/free-port.ts'
import { patientToml, whenReady } from '../../helpers/gateway.ts'
import type { Random } from '../../helpers/random.ts'
import { ownRedis } from '../../helpers/redis.ts'
import {
  type Reply,
  type RunningService,
  send,
  startRegistry,
  type Teardown,
} from '../../helpers/registry.ts'
import { ALICE, BOB, mintKey, publish, remove, unixNow, update } from '../../helpers/seller.ts'

/** A gateway with an own Registry over two sources, its replica where they share a Redis, and a gateway over it. */
export type FeedWorld = {
  inner: readonly RunningService[]
  outer: RunningService
  bearer: (isOuter: boolean) => Record<string, string>
  /** One thing happens. */
  step: (random: Random) => Promise<void>
  /** Every replica reads every source: what one has read, another may have not. */
  refresh: () => Promise<void>
  /** Every source answers again, and was read. */
  heal: () => Promise<void>
  /** What has happened so far. */
  done: () => string
}

const SELLERS = [ALICE, BOB] as const
const ADMIN = { Authorization: 'Bearer admin' }
/** Few ids, so that most sources have copies of the same listings. */
const IDS = 8
/** Of `eu`, which is held in part where it has more. */
const MAX_LISTINGS = 30
const PUBLISHERS = [
  [1, ALICE.address.toLowerCase(), 'http://alice.example/'],
  [2, BOB.address.toLowerCase(), 'http://bob.example/'],
  [3, `0x${'c'.repeat(40)}`, 'http://carol.example/'],
] as const

export async function startFeedWorld(owner: Teardown, random: Random): Promise<FeedWorld> {
  const isShared = random.chance(0.5)
  const fakes = await startFakes(owner, random)
  const periods = random.chance(0.5) ? [1, 1] : [3600, 3600]
  const settings = `refresh_seconds = ${periods[0]}\nfull_refresh_seconds = ${periods[1]}`
  const toml = innerToml(fakes, settings, random)
  const folder = await mkdtemp(join(tmpdir(), 'entrepot-feeds-'))
  owner.teardown(() => rm(folder, { recursive: true, force: true }))
  const store = isShared ? (await ownRedis(owner)).url : `sqlite:${join(folder, 'inner.db')}`
  const ports = await freePorts(3)
  const clock = { now: unixNow() }
  const open = (n: number, text: string, url: string) =>
    Node.start(owner, { toml: text, port: ports[n]!, store: url, nowSeconds: () => clock.now })
  const inner = [await open(0, toml, store)]
  if (isShared) inner.push(await open(1, toml, store))
  const { key, bearer } = await mintKey(inner[0]!.url)
  const outerToml = patientToml(
    [
      {
        name: 'inner',
        url: inner[0]!.url,
        // Followed by its stream: by that alone, or with a pull a second besides.
        settings: `kind = "gateway"\napi_key_env = "INNER_KEY"${random.chance(0.5) ? '' : '\nrefresh_seconds = 1\nfull_refresh_seconds = 1'}`,
      },
    ],
    '[registry]\nlisting_shape = "off"\n',
  )
  const outer = await Node.start(owner, {
    toml: outerToml,
    port: ports[2]!,
    store: `sqlite:${join(folder, 'outer.db')}`,
    environment: { INNER_KEY: key },
  })
  const outerKey = await mintKey(outer.url)
  const market = new FeedMarket({ inner, outer, fakes, clock })
  return {
    inner,
    outer,
    bearer: (isOuter) => (isOuter ? outerKey.bearer : bearer),
    step: (steps) => market.step(steps),
    refresh: () => market.refresh(),
    heal: () => market.heal(),
    done: () => market.done.join('\n'),
  }
}

type Fakes = Readonly<Record<'eu' | 'secret', FakeRegistry>>

async function startFakes(owner: Teardown, random: Random): Promise<Fakes> {
  const start = async (name: string): Promise<FakeRegistry> => {
    const fake = await startFakeRegistry({ publishers: PUBLISHERS, hasCounts: random.chance(0.5) })
    owner.teardown(() => fake.close())
    for (let n = 0; n < IDS; n++) put(fake, upstreamListing(name, random))
    return fake
  }
  return { eu: await start('eu'), secret: await start('secret') }
}

/** The own Registry has the priority 0. */
function innerToml({ eu, secret }: Fakes, settings: string, random: Random): string {
  const entry = (name: string, { url }: FakeRegistry, more: string) => ({
    name,
    url,
    settings: `${more}\npriority = ${random.pick([-2, -1, 1, 2])}\n${settings}`,
  })
  return patientToml(
    [entry('secret', secret, 'visibility = "private"'), entry('eu', eu, `max_listings = ${MAX_LISTINGS}`)],
    '[registry]\nlisting_shape = "off"\n[limits]\npublish_per_minute = 0\n',
  )
}

type NodeOptions = {
  toml: string
  port: number
  store: string
  environment?: Record<string, string>
  nowSeconds?: () => number
}

/** A service that restarts with the same store on the same port. */
class Node implements RunningService {
  readonly #options: NodeOptions
  #service!: RunningService
  #closers: (() => unknown)[] = []

  static async start(owner: Teardown, options: NodeOptions): Promise<Node> {
    const node = new Node(options)
    owner.teardown(() => node.#close())
    await node.#open()
    return node
  }

  private constructor(options: NodeOptions) {
    this.#options = options
  }

  get url(): string {
    return this.#service.url
  }

  get context(): RunningService['context'] {
    return this.#service.context
  }

  get = (path: string, headers?: Record<string, string>): Promise<Reply> => this.#service.get(path, headers)
  setGatewayFile = (toml: string): void => this.#service.setGatewayFile(toml)
  reload = (toml = this.#options.toml): Promise<void> => this.#service.reload(toml)

  async restart(): Promise<void> {
    await this.#close()
    await this.#open()
  }

  async #open(): Promise<void> {
    const { toml, port, store, environment, nowSeconds } = this.#options
    this.#service = await startRegistry(
      { teardown: (close: () => unknown) => void this.#closers.unshift(close) },
      {
        toml,
        isLoaded: false,
        ...(nowSeconds && { nowSeconds }),
        environment: {
          PORT: String(port),
          STORE_URL: store,
          REGISTRY_ADMIN_API_KEY: 'admin',
          REGISTRY_REQUIRE_READ_API_KEY: 'false',
          REGISTRY_REQUIRE_WRITE_API_KEY: 'false',
          ...environment,
        },
      },
    )
    await whenReady(this)
  }

  async #close(): Promise<void> {
    const closers = this.#closers.splice(0)
    for (const close of closers) await close()
  }
}

type MarketOptions = { inner: readonly Node[]; outer: Node; fakes: Fakes; clock: { now: number } }

/** What happens in a world. */
class FeedMarket {
  readonly done: string[] = []
  readonly #options: MarketOptions
  readonly #blocks: number[] = []

  constructor(options: MarketOptions) {
    this.#options = options
  }

  async step(random: Random): Promise<void> {
    const { inner, outer } = this.#options
    const node = random.pick(inner)
    const kind = random.pick(STEPS)
    if (kind === 'own') await this.#changeOwn(node, random)
    else if (kind === 'upstream') await this.#changeUpstream(random)
    else if (kind === 'fault') await this.#fail(random)
    else if (kind === 'block') await this.#block(node, random)
    else if (kind === 'reload') await this.#note('reload', () => node.reload())
    else if (kind === 'restart') await this.#note('restart inner', () => node.restart())
    else await this.#note('restart outer', () => outer.restart())
  }

  async refresh(): Promise<void> {
    for (const node of this.#options.inner)
      for (const name of ['eu', 'secret']) await this.#refresh(node, name)
  }

  async heal(): Promise<void> {
    const { fakes, inner, outer } = this.#options
    for (const fake of Object.values(fakes)) fake.script = [{ kind: 'serve' }]
    fakes.eu.items = fakes.eu.items.filter((text) => !text.includes('"filler'))
    for (const node of inner) for (const name of ['eu', 'secret']) await healSource(node, name)
    await healSource(outer, 'inner')
    this.done.push('--- heal')
  }

  async #note(what: string, work: () => Promise<unknown>): Promise<void> {
    this.done.push(what)
    await work()
  }

  async #changeOwn({ url }: Node, random: Random): Promise<void> {
    const { clock } = this.#options
    const seller = random.pick(SELLERS)
    // Of both sellers, so that a listing changes its publisher.
    const id = `own-${random.below(IDS)}`
    const timestamp = clock.now++
    const kind = random.pick(['publish', 'publish', 'publish', 'close', 'open', 'remove', 'remove'])
    const reply = await (kind === 'publish'
      ? publish(
          url,
          seller,
          { listing_id: id, ...offer(random), storefront_url: storefront(seller, random) },
          { timestamp },
        )
      : kind === 'remove'
        ? remove(url, id, { seller, timestamp })
        : update(url, id, { status: kind === 'close' ? 'closed' : 'open' }, { seller, timestamp }))
    this.done.push(`${kind} ${id} ${seller.address.slice(0, 6)}: ${reply.status}`)
    if (reply.status >= 500) throw new Error(`${reply.status} ${reply.text}`)
  }

  async #changeUpstream(random: Random): Promise<void> {
    const name = random.pick(['eu', 'secret'] as const)
    const fake = this.#options.fakes[name]
    for (let n = random.below(3); n >= 0; n--) {
      if (fake.items.length > 0 && random.chance(0.4)) fake.items.splice(random.below(fake.items.length), 1)
      else put(fake, upstreamListing(name, random))
    }
    this.done.push(`change ${name}`)
    if (random.chance(0.7)) await this.#refresh(random.pick(this.#options.inner), name)
  }

  async #fail(random: Random): Promise<void> {
    const { fakes, inner } = this.#options
    const name = random.pick(['eu', 'secret'] as const)
    const kind = random.pick(['500', '401', 'reset', 'large', 'serve'])
    if (kind === 'large')
      for (let n = 0; n < MAX_LISTINGS; n++)
        put(fakes.eu, { ...upstreamListing('filler', random), listing_id: `filler-${n}` })
    else if (kind === 'serve') fakes[name].script = [{ kind: 'serve' }]
    else if (kind === 'reset') fakes[name].script = [{ kind: 'reset_mid_body' }]
    else fakes[name].script = [{ kind: 'status', status: Number(kind) }]
    this.done.push(`${kind} ${name}`)
    await this.#refresh(random.pick(inner), kind === 'large' ? 'eu' : name)
  }

  /** A block, or the end of one. */
  async #block({ url }: Node, random: Random): Promise<void> {
    const id = this.#blocks.length > 0 && random.chance(0.5) ? this.#blocks.pop() : undefined
    if (id !== undefined) {
      this.done.push('unblock')
      await send(`${url}/admin/blocks/${id}`, { method: 'DELETE', headers: ADMIN })
      return
    }
    const publisher = random.pick(PUBLISHERS)[1]
    const subject = random.chance(0.3)
      ? publisher
      : `${publisher}/${random.pick(['own', 'eu'])}-${random.below(IDS)}`
    const reply = await send(`${url}/admin/blocks`, {
      method: 'POST',
      headers: { ...ADMIN, 'Content-Type': 'application/json' },
      body: JSON.stringify({ subject, reason: 'test' }),
    })
    if (reply.status !== 201) throw new Error(`${reply.status} ${reply.text}`)
    this.#blocks.push((reply.json() as { id: number }).id)
    this.done.push(`block ${subject}`)
  }

  async #refresh({ url }: Node, name: string): Promise<void> {
    await send(`${url}/admin/sources/${name}/refresh`, { method: 'POST', headers: ADMIN })
  }
}

/** Resolves when the source is held whole, and answers again. */
async function healSource(node: Node, name: string): Promise<void> {
  const ask = (path: string): Promise<Reply> =>
    send(`${node.url}/admin/sources/${name}/${path}`, { method: 'POST', headers: ADMIN })
  await ask('probe')
  await ask('refresh')
  await eventually(`healed ${name}`, async () => {
    const reply = await node.get('/admin/sources', ADMIN)
    const { sources } = reply.json() as { sources: { registry: string; state: string }[] }
    return sources.find(({ registry }) => registry === name)!.state === 'loaded'
  })
}

/** Restarts take longest. */
const STEPS = [
  ...Array.from({ length: 10 }, () => 'own' as const),
  ...Array.from({ length: 8 }, () => 'upstream' as const),
  'fault',
  'fault',
  'block',
  'block',
  'reload',
  'restart',
  'restart outer',
] as const

function put(fake: FakeRegistry, listing: { listing_id: string }): void {
  const id = `"listing_id":"${listing.listing_id}"`
  const text = listingText(listing)
  fake.items = [text, ...fake.items.filter((item) => !item.includes(id))].sort((a, b) =>
    dateOf(a) < dateOf(b) ? 1 : -1,
  )
}

const dateOf = (text: string): string => (JSON.parse(text) as { created_at: string }).created_at

/** Often of an id that the own Registry has as well. */
function upstreamListing(name: string, random: Random) {
  const publisher = random.pick(PUBLISHERS)
  const prefix = random.pick(['own', 'eu', name])
  return {
    listing_id: `${prefix}-${random.below(IDS)}`,
    publisher_id: publisher[0],
    storefront_url: publisher[2],
    created_at: `2026-11-2${random.below(5)}T10:00:0${random.below(10)}`,
    ...offer(random),
  }
}

function offer(random: Random) {
  const amount = random.pick(['1000000', '2000000', '3000000'])
  return {
    offer_resource: {
      resource_type: 'compute',
      gpu_model: random.pick(['H100', 'H200']),
      gpu_count: 1 + random.below(8),
      region: random.pick(['Oslo', 'Frankfurt, DE']),
    },
    accepted_escrows: [
      {
        chain_name: 'base',
        literal_fields: { token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' },
        rates: [{ field: 'amount', value: amount, per: 'hour' }],
      },
    ],
  }
}

const storefront = ({ address }: { address: string }, random: Random): string =>
  `http://${address.slice(2, 6).toLowerCase()}-${random.chance(0.9) ? 0 : 1}.example/`
