import type { Random } from '../../helpers/random.ts'
import { Changes, terms } from './changes.ts'
import { History, type Publisher, type Status, type Terms, type Version } from './history.ts'
import { SIGNERS } from './own-registry.ts'
import { OWN } from './plan.ts'
import { ScriptedRegistry } from './scripted-registry.ts'

/** Names of upstreams, the best first, all behind the own Registry. `hidden` is in no view. */
const UPSTREAMS = ['liar', 'eu', 'hidden', 'open'] as const
/** What the view shows, by rank. */
export const SEEN: readonly string[] = [OWN, ...UPSTREAMS.filter((name) => name !== 'hidden')]

type Copy = Pick<Version, 'key' | 'listingId' | 'publisher' | 'terms'>
/** A listing of the own Registry. */
export type Sold = Copy & { status: Status }

/** What a view or `only` keeps, as the gateway file says it and as a plain predicate. */
type Filter = { toml: string; keeps: (terms: Terms) => boolean }

const VIEWS: readonly Filter[] = [
  {
    toml: 'gpu_model = ["H100", "H200", "B200"]',
    keeps: ({ gpu_model }) => /^(H100|H200|B200)$/.test(gpu_model),
  },
  {
    toml: 'gpu = ["A100", "L40S"]',
    keeps: ({ gpu_model }) => gpu_model === 'A100' || gpu_model === 'L40S',
  },
  {
    toml: 'region = ["eu", "us"], gpu_count_min = 3',
    keeps: ({ region, gpu_count }) => region !== 'asia' && gpu_count >= 3,
  },
]
const ONLY: readonly Filter[] = [
  { toml: 'gpu_count_min = 2', keeps: ({ gpu_count }) => gpu_count >= 2 },
  { toml: 'gpu_model = ["H100", "A100"]', keeps: ({ gpu_model }) => /^(H|A)100$/.test(gpu_model) },
  { toml: 'region = "eu"', keeps: ({ region }) => region === 'eu' },
]

/** What is denied: a publisher, a storefront or one listing, as operators write it and as a plain predicate. */
export type Subject = {
  text: string
  kind: 'publisher' | 'storefront' | 'listing'
  hits: (copy: Copy) => boolean
}
/** A rule of the gateway file or a block; `null`: of every source, or of every upstream where it is `only`. */
type Denial = { source: string | null; denies: (copy: Copy) => boolean; subject?: Subject }

export type Upstream = { registry: ScriptedRegistry; mirror: string }

/**
 * A market of scripted Registries, some of which lie and fail, and of an own Registry, with what an operator hides of it. Every
 * upstream has a mirror that never had what the view and the rules hide: a listing is there if the best copy in a source of the
 * view that no rule denies matches the filter of the view.
 */
export class ViewMarket {
  readonly view: Filter
  readonly upstreams: readonly Upstream[]
  /** `[curation]` of the gateway file, and the same without what it denies. */
  readonly curation: string
  readonly labels: string
  /** In the order of their dates. */
  sold: Sold[] = []
  /** Registries that are away when answers are compared. */
  readonly away = new Set<ScriptedRegistry>()
  readonly blocks = new Map<number, Denial>()
  readonly #rules: readonly Denial[]
  readonly #changes: Changes
  /** Of Registries without a directory the publishers are not known, so only storefronts are denied there. */
  readonly namesPublishers: boolean

  static async open(random: Random, now: () => number): Promise<ViewMarket> {
    const namesPublishers = random.chance(0.8)
    const history = new History(now)
    const upstreams: Upstream[] = []
    const plan = UPSTREAMS.map((name) => ({
      name,
      spec: random.pick(['same', 'same', 'none', 'partial', 'other'] as const),
      hasPublishers: namesPublishers || random.chance(0.5),
      isLiar: name === 'liar' || random.chance(0.2),
    }))
    for (const options of plan) {
      const registry = new ScriptedRegistry({
        ...options,
        history,
        now,
        random: random.fork(`${options.name} dates`).next,
        odd: { oversized: 0, isFailing: false },
        isCoarse: random.chance(0.3),
        skewMs: 0,
        pageSize: 200,
        isAlwaysOpen: true,
      })
      await registry.listen()
      upstreams.push({ registry, mirror: '' })
    }
    const registries = upstreams.map(({ registry }) => registry)
    const changes = new Changes(registries, random.fork('changes'))
    for (const registry of registries.toSorted((a, b) => Number(a.isLiar) - Number(b.isLiar)))
      changes.fill(registry, random.pick([4, 12, 30]), now())
    const market = new ViewMarket(random, { upstreams, changes, namesPublishers })
    for (const one of upstreams)
      one.mirror = await one.registry.serve((version) => market.isShown(one.registry.name, version))
    return market
  }

  private constructor(
    random: Random,
    {
      upstreams,
      changes,
      namesPublishers,
    }: { upstreams: readonly Upstream[]; changes: Changes; namesPublishers: boolean },
  ) {
    this.upstreams = upstreams
    this.#changes = changes
    this.namesPublishers = namesPublishers
    this.view = random.pick(VIEWS)
    const [rules, curation, labels] = this.#makeRules(random)
    this.#rules = rules
    this.curation = curation
    this.labels = labels
  }

  get registries(): readonly ScriptedRegistry[] {
    return this.upstreams.map(({ registry }) => registry)
  }

  /** Listings of the own Registry that a reader of the view sees. */
  get soldInView(): readonly Sold[] {
    return this.sold.filter((one) => this.isShown(OWN, one))
  }

  /** Keys of the listings that a reader of the view sees. */
  shownKeys(): Set<string> {
    const copies = SEEN.flatMap((name) => this.#listingsOf(name).filter((copy) => this.isShown(name, copy)))
    return new Set(copies.map(({ key }) => key))
  }

  /** How many copies there are, and how many a reader of the view sees. */
  count(): { all: number; shown: number } {
    const names = [OWN, ...UPSTREAMS]
    const all = names.flatMap((name) => this.#listingsOf(name).map((copy) => this.isShown(name, copy)))
    return { all: all.length, shown: all.filter(Boolean).length }
  }

  isShown(source: string, copy: Copy): boolean {
    if (!SEEN.includes(source) || this.#isDenied(source, copy)) return false
    const best = SEEN.flatMap((name) => {
      const same = this.#copyIn(name, copy)
      return same !== undefined && !this.#isDenied(name, same) ? [same] : []
    })[0]
    return best !== undefined && this.view.keeps(best.terms)
  }

  /** Whether the own Registry takes a listing. */
  accepts(copy: Copy): boolean {
    return ![...this.#rules, ...this.blocks.values()].some(
      ({ source, subject, denies }) =>
        subject !== undefined && (source === null || source === OWN) && denies(copy),
    )
  }

  /** Something changes in an upstream. */
  change(now: number, random: Random): void {
    this.#changes.make(now, random)
  }

  /** One of what there is, so that it hits something. */
  pickSubject(random: Random): Subject {
    const names = [OWN, ...UPSTREAMS].filter((name) => this.#listingsOf(name).length > 0)
    const { publisher, listingId } = random.pick(this.#listingsOf(random.pick(names)))
    const { address, storefrontUrl } = publisher
    const kind = this.namesPublishers
      ? random.pick(['publisher', 'storefront', 'listing'] as const)
      : 'storefront'
    if (kind === 'storefront')
      return { kind, text: storefrontUrl, hits: (copy) => copy.publisher.storefrontUrl === storefrontUrl }
    if (kind === 'publisher')
      return { kind, text: address, hits: (copy) => copy.publisher.address === address }
    const hits = (copy: Copy) => copy.publisher.address === address && copy.listingId === listingId
    return { kind, text: `${address}/${listingId}`, hits }
  }

  newListing(random: Random): Omit<Sold, 'key' | 'status'> {
    const copied = this.registries
      .flatMap((registry) => registry.listings())
      .filter(({ publisher }) => SIGNERS.some((one) => isSame(one, publisher)))
    const { listingId, publisher } =
      copied.length > 0 && random.chance(0.6)
        ? random.pick(copied)
        : { listingId: `own-${random.below(20)}`, publisher: random.pick(SIGNERS) }
    return { listingId, publisher, terms: terms(random) }
  }

  #listingsOf(source: string): readonly Copy[] {
    return source === OWN ? this.sold : this.registries.find(({ name }) => name === source)!.listings()
  }

  #copyIn(source: string, { key, listingId }: Copy): Copy | undefined {
    if (source === OWN) return this.sold.find((one) => one.key === key)
    const copy = this.registries.find(({ name }) => name === source)!.get(listingId)
    return copy?.key === key ? copy : undefined
  }

  #isDenied(source: string, copy: Copy): boolean {
    return [...this.#rules, ...this.blocks.values()].some(
      (one) => (one.source === null || one.source === source) && one.denies(copy),
    )
  }

  /** Up to three of them, over sources that readers see or not. */
  #makeRules(random: Random): [rules: Denial[], curation: string, labels: string] {
    const everywhere = this.namesPublishers && random.chance(0.3) ? this.pickPublisher(random) : null
    const rules: Denial[] = []
    let curation = '[curation]\n'
    let labels = ''
    if (everywhere !== null) {
      curation += `deny_publishers = ["${everywhere.text}"]\n`
      rules.push({ source: null, denies: everywhere.hits, subject: everywhere })
    }
    for (const source of random.pick([[], ['liar'], ['eu', 'open'], [OWN, 'eu']])) {
      const head = `[[curation.rules]]\nsource = "${source}"\n`
      const label = random.chance(0.5) ? 'label = "unverified"\n' : ''
      const only = random.chance(0.5) ? random.pick(ONLY) : null
      const subject = this.pickSubject(random)
      const deny = subject.kind === 'listing' || random.chance(0.4) ? null : subject
      if (only !== null) rules.push({ source, denies: (copy) => !only.keeps(copy.terms) })
      if (deny !== null) rules.push({ source, denies: deny.hits, subject: deny })
      const denied = deny === null ? '' : `deny = { ${deny.kind} = ["${deny.text}"] }\n`
      curation += `${head}${label}${only === null ? '' : `only = { ${only.toml} }\n`}${denied}`
      if (label !== '') labels += `${head}${label}`
    }
    return [rules, curation, labels]
  }

  pickPublisher(random: Random): Subject {
    for (;;) {
      const subject = this.pickSubject(random)
      if (subject.kind === 'publisher') return subject
    }
  }
}

const isSame = (one: Publisher, { address, storefrontUrl }: Publisher): boolean =>
  one.address === address && one.storefrontUrl === storefrontUrl
