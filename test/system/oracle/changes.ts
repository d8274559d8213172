import { type Random, seededRandom } from '../../helpers/random.ts'
import type { Publisher, Status, Terms, Version } from './history.ts'
import { HIGHEST_PRICE } from './model.ts'
import { SIGNERS } from './own-registry.ts'
import type { OddKind, ScriptedRegistry } from './scripted-registry.ts'

/** What sellers do. A kind is as likely as often it is listed. */
const KINDS = [
  ...Array.from({ length: 8 }, () => 'publish' as const),
  ...Array.from({ length: 7 }, () => 'delete' as const),
  ...(['close', 'close', 'reopen', 'reopen', 'update', 're-date', 're-date', 'move', 'move'] as const),
  ...(['copy', 'copy', 'copy', 'copy', 'namesake', 'delete many', 'publish many'] as const),
]

const MODELS = ['H100', 'H200', 'A100', 'L40S', 'B200']
const REGIONS = ['eu', 'us', 'asia']

/** How many of the listings of a liar are copies of others' listings. */
const LIES = 0.7

/** Changes of the listings of several Registries. */
export class Changes {
  readonly #registries: readonly ScriptedRegistry[]
  readonly #publishers: Publisher[]
  #ids = 0

  constructor(registries: readonly ScriptedRegistry[], random: Random) {
    this.#registries = registries
    const others = Array.from({ length: 12 }, (_, n) => publisher(n + random.below(100) * 100))
    this.#publishers = [...SIGNERS, ...others]
  }

  /** Listings of the past month, many of one instant, some of them copies of what other Registries have. */
  fill(registry: ScriptedRegistry, size: number, now: number): void {
    const random = seededRandom(size).fork(registry.name)
    const filled = this.#registries.filter((other) => other !== registry && other.size > 0)
    for (let n = 0; n < size; n++) {
      const createdAt = pastDate(now, n, random)
      const other =
        filled.length > 0 && random.chance(registry.isLiar ? LIES : 0.2) ? random.pick(filled) : null
      const copied = other === null ? undefined : random.pick(other.listings())
      if (copied === undefined)
        registry.publish(this.#newId(), random.pick(this.#publishers), terms(random), createdAt)
      else if (registry.isLiar) this.#lie(copied, registry, now, random)
      else if (registry.get(copied.listingId) === undefined)
        registry.publish(copied.listingId, copied.publisher, termsOfCopy(copied, random), createdAt)
    }
  }

  /** Listings that hide no other, among the others. */
  fillOdd(registry: ScriptedRegistry, now: number, random: Random): void {
    const { oversized, isFailing } = registry.options.odd
    const publish = (odd: OddKind): void => {
      const createdAt = Math.floor(now - 1000 - random.next() ** 2 * MONTH_MS) * 1000
      const seller = random.pick(this.#publishers)
      const stated = { listingId: this.#newId(), publisher: seller, terms: terms(random) }
      registry.replace({ ...stated, status: 'open', createdAt, odd })
    }
    for (let n = 0; n < oversized; n++) publish('oversized')
    if (isFailing) publish('failing')
  }

  make(now: number, random: Random, registry = random.pick(this.#registries)): void {
    if (registry.isLiar && random.chance(LIES)) return void this.#lieAnew(registry, now, random)
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
    if (random.chance(0.03))
      this.#publishers[SIGNERS.length + random.below(12)] = publisher(10_000 + this.#ids)
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

  #lieAnew(registry: ScriptedRegistry, now: number, random: Random): void {
    const victims = this.#registries.filter((other) => other !== registry && other.size > 0)
    if (victims.length === 0) return
    const listings = random.pick(victims).listings()
    for (let n = random.pick([1, 1, 5]); n > 0; n--)
      this.#lie(listings[pickIndex(listings.length, random)]!, registry, now, random)
  }

  /** A copy of another Registry's listing with other terms, another date, status or seller. */
  #lie({ odd, ...listing }: Version, registry: ScriptedRegistry, now: number, random: Random): void {
    if (odd !== undefined) return
    registry.replace({
      listingId: listing.listingId,
      publisher: falseSeller(listing.publisher, random),
      terms: falseTerms(listing.terms, random),
      status: random.chance(0.1) ? otherStatus(listing.status) : listing.status,
      createdAt: falseDate(listing.createdAt, now, random),
    })
  }

  /** Ids do not sort as they are made. */
  #newId(): string {
    const n = this.#ids++
    return `${(n * 7919) % 1000}-${n}`
  }
}

const MONTH_MS = 30 * 86_400_000
const HOUR_MICROS = 3_600_000_000

function pastDate(now: number, n: number, random: Random): number {
  const at = Math.floor(now - 1000 - random.next() ** 2 * MONTH_MS)
  return random.chance(0.2) ? Math.floor(at / 3_600_000) * HOUR_MICROS : at * 1000 + n
}

/** Mostly the one of the listing; its directory may claim the address for another storefront, or the reverse. */
function falseSeller(seller: Publisher, random: Random): Publisher {
  const thief = publisher(90_000 + random.below(3))
  const { address, storefrontUrl } = seller
  const other = { address, storefrontUrl: thief.storefrontUrl }
  return random.pick([seller, seller, seller, other, { address: thief.address, storefrontUrl }, thief])
}

function falseTerms(own: Terms, random: Random): Terms {
  const cheap = own.price === null ? 1 : Math.ceil(own.price / 100)
  const { gpu_model, gpu_count, region, model } = terms(random)
  return random.pick([
    own,
    { ...own, price: cheap },
    { ...own, price: null },
    { ...own, gpu_model, model },
    { ...own, region },
    { ...own, gpu_count, price: cheap },
  ])
}

/** Newer, older, of the future, or the same. */
function falseDate(createdAt: number, now: number, random: Random): number {
  const newer = now * 1000 - random.below(HOUR_MICROS)
  const older = createdAt - random.below(MONTH_MS) * 1000
  const future = now * 1000 + random.below(24 * HOUR_MICROS)
  return random.pick([createdAt, newer, newer, older, random.chance(0.3) ? future : older])
}

function otherStatus(status: Status): Status {
  return status === 'open' ? 'closed' : 'open'
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

export function terms(random: Random): Terms {
  return {
    gpu_model: random.pick(MODELS),
    gpu_count: 1 + random.below(8),
    model: random.pick(MODELS),
    region: random.pick(REGIONS),
    price: random.chance(0.1) ? null : 100_000 * (1 + random.below(HIGHEST_PRICE / 100_000)),
  }
}

function termsOfCopy({ terms: own }: Version, random: Random): Terms {
  return random.chance(0.5) ? own : terms(random)
}
