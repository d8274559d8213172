import type { ChangeJson } from '../../../src/wire/change.ts'
import { comparable, Follower } from '../../helpers/follower.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { type ManualClock, manualClock } from '../../helpers/manual-clock.ts'
import { type Random, seededRandom } from '../../helpers/random.ts'
import { type Reply, type RunningService, send, type Teardown } from '../../helpers/registry.ts'
import { mintKey, postJson } from '../../helpers/seller.ts'
import { countCalls, passIn } from './calls.ts'
import { followStream } from './feeds.ts'
import { SoldHere } from './sold-here.ts'
import { SEEN, type Sold, ViewMarket } from './view-market.ts'
import { type Asked, askOf, settled, withoutChance } from './view-questions.ts'

export type ViewsOutcome = {
  compared: number
  /** Copies that were hidden, at most. */
  hidden: number
  /** Changes that followers in the view were sent. */
  changes: number
  faults: string[]
}

/**
 * Compares what a reader of a view is answered with the answers of a gateway that never had the hidden sources and listings, byte for
 * byte but for times, ids of requests and sealed texts, while the market changes, lies and fails, and blocks are set and lifted.
 */
export async function compareViews(seed: number, requests: number): Promise<ViewsOutcome> {
  const closers: (() => unknown)[] = []
  const owner: Teardown = { teardown: (close: () => unknown) => void closers.unshift(close) }
  try {
    const comparison = await Comparison.open(owner, seededRandom(seed))
    return await comparison.run(seed, requests)
  } finally {
    for (const close of closers) await close()
  }
}

/** Most changes between two comparisons, and answers that are compared then. */
const MOST_STEPS = 4
const ANSWERS = 8
/** After so long all data are of now. */
const CALM_MS = 150_000
/** A request to a source that has no answer is repeated after a while, so time has to pass for one. */
const RETRY_STEP_MS = 50
const ADMIN = { Authorization: 'Bearer admin' }

type Side = { service: RunningService; headers: Record<string, string>; cursor: string }

class Comparison {
  readonly #owner: Teardown
  readonly #random: Random
  readonly #clock: ManualClock
  readonly #market: ViewMarket
  readonly #access: 'anonymous' | 'keys'
  readonly #idle: () => Promise<void>
  readonly #pass: (ms: number) => Promise<void>
  readonly #done: string[] = []
  #seen!: Side & { sold: SoldHere }
  /** The gateway that never had what is hidden, and what its own Registry has. */
  #bare!: Side
  #soldAtBare = ''
  #closeBare: () => Promise<unknown> = () => Promise.resolve()
  #follower!: Follower
  /** Listings that the reader could see at some time. */
  readonly #everShown = new Set<string>()

  static async open(owner: Teardown, random: Random): Promise<Comparison> {
    // The own Registry dates by the real clock, and is the oldest here.
    const clock = manualClock(Date.UTC(2100, 0))
    const market = await ViewMarket.open(random, () => clock.now())
    for (const registry of market.registries) owner.teardown(() => registry.close())
    // Those of readers wait for the clock, which waits for the gateways.
    const urls = new Set(market.upstreams.flatMap(({ registry, mirror }) => [registry.url, mirror]))
    const calls = countCalls(({ origin }) => urls.has(String(origin)))
    owner.teardown(calls.close)
    const comparison = new Comparison(owner, random, { clock, market, idle: calls.idle })
    await comparison.#begin()
    return comparison
  }

  private constructor(
    owner: Teardown,
    random: Random,
    { clock, market, idle }: { clock: ManualClock; market: ViewMarket; idle: () => Promise<void> },
  ) {
    this.#owner = owner
    this.#random = random
    this.#clock = clock
    this.#market = market
    this.#idle = idle
    this.#pass = passIn(clock, idle)
    this.#access = random.chance(0.5) ? 'anonymous' : 'keys'
  }

  async run(seed: number, requests: number): Promise<ViewsOutcome> {
    const outcome: ViewsOutcome = { compared: 0, hidden: 0, changes: 0, faults: [] }
    while (outcome.compared < requests && outcome.faults.length === 0) {
      this.#fail()
      for (let step = this.#random.below(MOST_STEPS); step >= 0; step--) await this.#step()
      await this.#settle()
      const { all, shown } = this.#market.count()
      outcome.hidden = Math.max(outcome.hidden, all - shown)
      outcome.faults.push(...(await this.#compareFollower()))
      for (let n = 0; n < ANSWERS && outcome.faults.length === 0; n++, outcome.compared++)
        outcome.faults.push(...(await this.#compareAnswer()))
    }
    outcome.changes = this.#follower.changes.length
    const about = `seed ${seed}, answer ${outcome.compared}, view { ${this.#market.view.toml} }, ${this.#access}\n${this.#market.curation}`
    outcome.faults = outcome.faults.map((fault) => `${about}${this.#done.join('\n')}\n${fault}`)
    return outcome
  }

  async #begin(): Promise<void> {
    const { view, curation } = this.#market
    const toml = `[access]\n${this.#access} = "partners"\n${curation}[[views]]\nname = "partners"\nsources = ${JSON.stringify(SEEN)}\nfilter = { ${view.toml} }\n`
    const urls = this.#market.upstreams.map(({ registry: { name, url } }) => ({ name, url }))
    const seen = await this.#start(this.#owner, urls, toml)
    this.#seen = { ...seen, sold: new SoldHere(seen.service.url, () => this.#clock.now()) }
    for (let n = 0; n < 8; n++) await this.#sell()
    await this.#settle()
    this.#follower = new Follower(this.#seen.service, { query: '', headers: this.#seen.headers })
    await this.#patiently(this.#follower.begin())
  }

  async #start(
    owner: Teardown,
    upstreams: readonly { name: string; url: string }[],
    toml: string,
  ): Promise<Side> {
    const entries = upstreams.map((one) => ({ ...one, settings: 'timeout_ms = 30000' }))
    const service = await startGateway(owner, entries, {
      clock: this.#clock,
      nowSeconds: () => Math.floor(this.#clock.now() / 1000),
      random: () => 0.5,
      isLoaded: false,
      environment: { REGISTRY_ADMIN_API_KEY: 'admin' },
      more: `${SETTINGS}${toml}`,
    })
    await this.#idle()
    const headers = this.#access === 'keys' ? (await mintKey(service.url)).bearer : {}
    return { service, headers, cursor: '' }
  }

  /** A source that was read before is away, or another one is there again. */
  #fail(): void {
    if (!this.#random.chance(0.3)) return
    const registry = this.#random.pick(this.#market.registries)
    const { away } = this.#market
    if (!away.delete(registry)) away.add(registry)
    this.#done.push(`${registry.name} is ${away.has(registry) ? 'away' : 'there'}`)
  }

  async #step(): Promise<void> {
    const random = this.#random
    this.#noteShown()
    const kind = random.pick([
      'change',
      'change',
      'change',
      'sell',
      'sell',
      'block',
      'unblock',
      'away',
    ] as const)
    if (kind === 'change') this.#market.change(this.#clock.now(), random)
    if (kind === 'sell') await this.#sell()
    if (kind === 'block') await this.#block()
    if (kind === 'unblock') await this.#unblock()
    this.#noteShown()
  }

  #noteShown(): void {
    for (const key of this.#market.shownKeys()) this.#everShown.add(key)
  }

  async #sell(): Promise<void> {
    this.#done.push(await this.#seen.sold.change(this.#market, this.#random))
  }

  async #block(): Promise<void> {
    const { text, hits, ...subject } = this.#market.pickSubject(this.#random)
    const source = this.#random.pick([null, null, ...this.#market.registries.map(({ name }) => name)])
    const body = JSON.stringify({ subject: text, reason: 'test', ...(source !== null && { source }) })
    const reply = await postJson(`${this.#seen.service.url}/admin/blocks`, body, ADMIN)
    if (reply.status !== 201) throw new Error(`${reply.status} ${reply.text}`)
    const { id } = reply.json() as { id: number }
    this.#market.blocks.set(id, { source, denies: hits, subject: { text, hits, ...subject } })
    this.#done.push(`block ${id} of ${text} in ${source ?? 'every source'}`)
  }

  async #unblock(): Promise<void> {
    const ids = [...this.#market.blocks.keys()]
    if (ids.length === 0) return
    const id = this.#random.pick(ids)
    const url = `${this.#seen.service.url}/admin/blocks/${id}`
    const { status, text } = await send(url, { method: 'DELETE', headers: ADMIN })
    if (status !== 204) throw new Error(`${status} ${text}`)
    this.#market.blocks.delete(id)
    this.#done.push(`unblock ${id}`)
  }

  /** Until both gateways have read what there is now. */
  async #settle(): Promise<void> {
    const sold = JSON.stringify(this.#market.soldInView)
    // What is held of a source that is away is of before, and a new gateway holds nothing of it.
    const { away, registries } = this.#market
    for (const registry of registries) registry.outage = null
    if (sold !== this.#soldAtBare) await this.#renewBare(this.#market.soldInView)
    if (away.size > 0) await this.#read()
    for (const registry of away) registry.outage = 'all'
    this.#soldAtBare = sold
    await this.#read()
  }

  async #read(): Promise<void> {
    await this.#pass(CALM_MS)
    // Publishers that were met for the first time are asked for then.
    for (let n = 0; n < 2; n++) {
      for (const side of [this.#seen, this.#bare]) await this.#get(side, '/listings?limit=200')
      await this.#idle()
    }
  }

  async #renewBare(sold: readonly Sold[]): Promise<void> {
    await this.#closeBare()
    const closers: (() => unknown)[] = []
    const owner: Teardown = { teardown: (close: () => unknown) => void closers.unshift(close) }
    const close = async (): Promise<void> => {
      for (const end of closers.splice(0)) await end()
    }
    if (this.#bare === undefined) this.#owner.teardown(() => this.#closeBare())
    this.#closeBare = close
    const urls = this.#market.upstreams
      .filter(({ registry }) => SEEN.includes(registry.name))
      .map(({ registry, mirror }) => ({ name: registry.name, url: mirror }))
    this.#bare = await this.#start(owner, urls, this.#market.labels)
    const registry = new SoldHere(this.#bare.service.url, () => this.#clock.now())
    for (const one of sold) await registry.publish(one)
    this.#seen.cursor = ''
  }

  async #get({ service, headers }: Side, path: string): Promise<Reply> {
    return this.#patiently(send(`${service.url}${path}`, { headers }))
  }

  async #patiently<T>(answer: Promise<T>): Promise<T> {
    let isAnswered = false
    const end = (): void => {
      isAnswered = true
    }
    answer.then(end, end)
    while (!isAnswered && this.#market.registries.some(({ outage }) => outage !== null))
      await this.#pass(RETRY_STEP_MS)
    return answer
  }

  async #compareAnswer(): Promise<string[]> {
    const asked = askOf(this.#market, this.#random)
    const sides = [this.#seen, this.#bare]
    for (let attempt = 0; ; attempt++) {
      const answers: Reply[] = []
      for (const side of sides) answers.push(await this.#patiently(ask(side, asked)))
      const [left, right] = answers.map(settled)
      if (left !== right) {
        if (asked.isLookup && attempt < MOST_ATTEMPTS) continue
        return [`${asked.method} ${asked.path} ${asked.body}\n${describeDifference(left!, right!)}`]
      }
      const cursors = answers.map(({ text }) => /"next_cursor":"([^"]+)"/.exec(text)?.[1])
      if (cursors.every((cursor) => cursor !== undefined))
        for (const [n, side] of sides.entries()) side.cursor = cursors[n]!
      return []
    }
  }

  /** The map of a follower in the view is what the other gateway lists, and no change was of anything that was never shown. */
  async #compareFollower(): Promise<string[]> {
    const follower = this.#follower
    const before = follower.changes.length
    if (this.#random.chance(0.4))
      await this.#patiently(
        followStream(follower, `${this.#seen.service.url}/changes`, this.#random.below(6000)),
      )
    await this.#patiently(follower.catchUp())
    const { service, headers } = this.#bare
    const other = new Follower(service, { query: follower.query, headers })
    const { map } = await this.#patiently(other.read())
    const leaked = follower.changes.slice(before).filter((change) => !this.#mayBeSent(change))
    const faults = leaked.map((change) => `a follower was sent ${JSON.stringify(change)}`)
    const [kept, read] = [follower.map, map].map((one) =>
      comparable(one).map((row) => withoutChance(JSON.stringify(row))),
    )
    const lines = (rows: string[], others: string[]) => rows.filter((row) => !others.includes(row)).join('\n')
    if (lines(kept!, read!) + lines(read!, kept!) === '') return faults
    return [
      ...faults,
      `a follower keeps\n${lines(kept!, read!)}\nand the other gateway lists\n${lines(read!, kept!)}`,
    ]
  }

  #mayBeSent(change: ChangeJson): boolean {
    if (change.type === 'source') return SEEN.includes(change.source.registry)
    const { publisher, listing_id } = change
    const storefront = change.key.slice(0, change.key.lastIndexOf('/'))
    return this.#everShown.has(`${publisher ?? storefront} ${listing_id}`)
  }
}

/** What both say where they part. */
function describeDifference(left: string, right: string): string {
  let first = 0
  while (left[first] === right[first]) first++
  const from = Math.max(0, first - 300)
  const part = (text: string) => `${text.slice(from, first + 500)}\n…${text.slice(-700)}`
  return `--- in the view\n${part(left)}\n--- without what is hidden\n${part(right)}`
}

/** Of a lookup, until the same worse sources have answered. */
const MOST_ATTEMPTS = 5

/** What is known of one listing is of the moment of a comparison. */
const SETTINGS = `[gateway]
id = "views"
budget_ms = 60000
[cache]
fresh_seconds = 1
[registry]
listing_shape = "off"
[limits]
publish_per_minute = 0
`

function ask({ service, headers: own, cursor }: Side, asked: Asked): Promise<Reply> {
  const { method, path, body, headers } = asked
  const target = `${service.url}${path.replace('CURSOR', cursor)}`
  return send(target, { method, ...(body && { body }), headers: { ...headers, ...own } })
}
