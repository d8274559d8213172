import type { Publisher, Terms, Version } from './history.ts'
import { type Random, seededRandom } from './random.ts'
import type { OddKind, ScriptedRegistry } from './scripted-registry.ts'

/** What sellers do. A kind is as likely as often it is listed. */
const KINDS = [
  ...Array.from({ length: 8 }, () => 'publish' as const),
  ...Array.from({ length: 7 }, () => 'delete' as const),
  ...(['close', 'close', 'reopen', 'reopen', 'update', 're-date', 're-date', 'move', 'move'] as const),
  ...(['copy', 'copy', 'copy', 'copy', 'namesake', 'delete many', 'publish many'] as const),
]

const MODELS = ['H100', 'H200', 'A100', 'L40S', 'B200']

/** Changes of the listings of several Registries. */
export class Changes {
  readonly #registries: readonly ScriptedRegistry[]
  readonly #publishers: Publisher[]
  #ids = 0

  constructor(registries: readonly ScriptedRegistry[], random: Random) {
    this.#registries = registries
    this.#publishers = Array.from({ length: 12 }, (_, n) => publisher(n + random.below(100) * 100))
  }

  /** Listings of the past month, many of one instant, some of them copies of what Registries before have. */
  fill(registry: ScriptedRegistry, size: number, now: number): void {
    const random = seededRandom(size).fork(registry.name)
    const before = this.#registries.slice(0, this.#registries.indexOf(registry))
    for (let n = 0; n < size; n++) {
      const at = Math.floor(now - 1000 - random.next() ** 2 * 30 * 86_400_000)
      const createdAt = random.chance(0.2) ? Math.floor(at / 3_600_000) * 3_600_000_000 : at * 1000 + n
      const other = before.length > 0 && random.chance(0.2) ? random.pick(before) : null
      const copied = other === null || other.size === 0 ? undefined : random.pick(other.listings())
      if (copied === undefined)
        registry.publish(this.#newId(), random.pick(this.#publishers), terms(random), createdAt)
      else if (registry.get(copied.listingId) === undefined)
        registry.publish(copied.listingId, copied.publisher, termsOfCopy(copied, random), createdAt)
    }
  }

  /** Listings that hide no other, among the others. */
  fillOdd(registry: ScriptedRegistry, now: number, random: Random): void {
    const { oversized, isFailing } = registry.options.odd
    const publish = (kind: OddKind): void => {
      const at = Math.floor(now - 1000 - random.next() ** 2 * 30 * 86_400_000) * 1000
      registry.publishOdd(this.#newId(), random.pick(this.#publishers), terms(random), at, kind)
    }
    for (let n = 0; n < oversized; n++) publish('oversized')
    if (isFailing) publish('failing')
  }

  make(random: Random, registry = random.pick(this.#registries)): void {
    const kind = random.pick(KINDS)
    const open = registry.listings('open').filter(({ odd }) => odd === undefined)
    const listing = open.length === 0 ? undefined : open[pickIndex(open.length, random)]
    if (kind === 'publish' || listing === undefined) this.#publish(registry, random)
    else if (kind === 'copy' || kind === 'namesake' || kind === 'move')
      this.#spread(kind, listing, registry, random)
    else if (kind === 'delete many')
      for (const { listingId } of pickRun(open, 12 + random.below(20), random)) registry.remove(listingId)
    else if (kind === 'publish many')
      for (let n = 12 + random.below(20); n > 0; n--) this.#publish(registry, random)
    else this.#change(kind, listing, registry, random)
  }

  #publish(registry: ScriptedRegistry, random: Random): void {
    if (random.chance(0.03)) this.#publishers[random.below(12)] = publisher(10_000 + this.#ids)
    registry.publish(this.#newId(), random.pick(this.#publishers), terms(random))
  }

  #change(
    kind: 'delete' | 'close' | 'reopen' | 'update' | 're-date',
    { listingId, publisher, terms: before }: Version,
    registry: ScriptedRegistry,
    random: Random,
  ): void {
    if (kind === 'delete' || kind === 're-date') registry.remove(listingId)
    if (kind === 're-date') registry.publish(listingId, publisher, before)
    if (kind === 'close') registry.setStatus(listingId, 'closed')
    if (kind === 'update') registry.publish(listingId, publisher, terms(random))
    const closed = kind === 'reopen' ? registry.listings('closed') : []
    if (closed.length > 0) registry.setStatus(random.pick(closed).listingId, 'open')
  }

  /** To another Registry that has no listing of that id. */
  #spread(
    kind: 'copy' | 'namesake' | 'move',
    listing: Version,
    registry: ScriptedRegistry,
    random: Random,
  ): void {
    const { listingId, publisher } = listing
    const other = random.pick(this.#registries)
    if (other.get(listingId) !== undefined) return
    if (kind === 'move') registry.remove(listingId)
    const seller = kind === 'namesake' ? random.pick(this.#publishers) : publisher
    other.publish(listingId, seller, kind === 'move' ? listing.terms : termsOfCopy(listing, random))
  }

  /** Ids do not sort as they are made. */
  #newId(): string {
    const n = this.#ids++
    return `${(n * 7919) % 1000}-${n}`
  }
}

/** New listings change more often than old ones. */
function pickIndex(count: number, random: Random): number {
  return random.chance(0.5) ? random.below(Math.min(count, 30)) : random.below(count)
}

/** At most a quarter of them. */
function pickRun(listings: readonly Version[], count: number, random: Random): Version[] {
  const start = pickIndex(listings.length, random)
  return listings.slice(start, start + Math.min(count, listings.length >> 2))
}

function publisher(n: number): Publisher {
  return { address: `0x${String(n).padStart(40, '0')}`, storefrontUrl: `http://storefront-${n}.example/` }
}

function terms(random: Random): Terms {
  return { gpu_model: random.pick(MODELS), gpu_count: 1 + random.below(8), model: random.pick(MODELS) }
}

function termsOfCopy({ terms: own }: Version, random: Random): Terms {
  return random.chance(0.5) ? own : terms(random)
}
