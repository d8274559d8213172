import type { Gap } from '../domain/gap.ts'
import type { NamedSource, Page } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { SavedSnapshot } from '../domain/saved-snapshot.ts'
import { SourceError } from '../domain/source-error.ts'
import type { SourceDetails } from '../domain/source-status.ts'
import { MAX_LIVE_PREFIX } from './fan-out.ts'
import { requireSchema } from './plan.ts'
import { type Held, type PullerOptions, SnapshotPuller } from './snapshot-puller.ts'
import type { UpstreamSource } from './upstream-source.ts'

/** What is held is stale once it is older than this many periods: then a whole pull has failed. */
export const STALE_PERIODS = 2

export type SnapshotParts = PullerOptions & {
  /** The same upstream asked live, for what a snapshot of open listings cannot say. */
  live: UpstreamSource
  /** An upstream that declares another is not asked; `null` asks all of them. */
  schema: string | null
}

export type SnapshotSource = UpstreamSource & {
  /** Whether it was pulled once, with whatever outcome. */
  wasTried: () => boolean
  /** Resolves when it was. */
  tried: Promise<void>
  /** What is held now, as it would be saved. */
  saved: () => SavedSnapshot | null
  close: () => Promise<void>
}

/**
 * One upstream whose open listings are pulled every `refreshSeconds` and asked in memory by any filter, whether or
 * not the upstream still lives. What was saved last is there at once, as stale. What is not open is asked live, and so
 * is a publisher's own while not every publisher is known, and everything while there is more than `maxListings`.
 *
 * A snapshot is what a reader's `no-cache` gets too: how old it is, is told. What an upstream shows us no longer
 * (401, 403) is not shown, and comes back when our key does.
 */
export const createSnapshotSource = async (parts: SnapshotParts): Promise<SnapshotSource> => {
  const { live } = parts
  const puller = new SnapshotPuller(parts)
  const held = new HeldListings(parts, puller)
  await puller.restore()
  puller.pull()
  return {
    ...live,
    source: {
      ...live.source,
      // Looked at by every query: only where a source is live does it have to send all that lies before a page.
      get mode() {
        return held.mode
      },
      ask: async (query, signal) =>
        held.canAnswer(query) || held.holds(query) ? held.page(query, signal) : held.askLive(query, signal),
    },
    status: () => held.status(),
    refresh: () => {
      live.refresh()
      puller.pull()
    },
    close: async () => {
      await puller.close()
      live.close()
    },
    wasTried: () => puller.wasTried,
    tried: puller.tried,
    saved: () => puller.saved(),
  }
}

class HeldListings {
  readonly #parts: SnapshotParts
  readonly #puller: SnapshotPuller

  constructor(parts: SnapshotParts, puller: SnapshotPuller) {
    this.#parts = parts
    this.#puller = puller
  }

  get mode(): NamedSource['mode'] {
    return this.#puller.isTooLarge ? 'live' : 'snapshot'
  }

  canAnswer({ status, publisher }: ListingQuery): boolean {
    if (status !== 'open' || this.#puller.isTooLarge) return false
    return publisher === null || this.#puller.held?.snapshot.knowsPublishers === true
  }

  /** Whether it is the one listing that is asked for, and no other can be. */
  holds(query: ListingQuery): boolean {
    const { listingId } = query
    const { held, isTooLarge } = this.#puller
    if (isTooLarge || this.#isFromThere(query)) return false
    return listingId !== undefined && held?.snapshot.listings.has(listingId) === true
  }

  async page(query: ListingQuery, signal: AbortSignal): Promise<Page> {
    const { live, upstream, schema } = this.#parts
    requireSchema(upstream.name, live.spec.spec(), schema)
    const { held, failure } = this.#puller
    if (held === null) throw failure ?? this.#notYetLoaded()
    if (failure?.reason === 'unauthorized') throw failure
    if (this.#isFromThere(query))
      throw new SourceError('loop', `${upstream.name}: the question comes from there`)
    const { snapshot, invalid } = held
    const { version } = snapshot
    const stale = this.#isStale(held)
    const reason = stale ? failure?.reason : undefined
    return {
      ...(await snapshot.ask(query, signal)),
      find: (listingId, known) => snapshot.find(listingId, known, query),
      ageSeconds: this.#ageSeconds(held),
      stale,
      ...(reason === undefined ? {} : { reason }),
      cache: { outcome: stale ? 'stale' : 'hit', ttlSeconds: Math.round(this.#ttlSeconds(held)) },
      isCurrent: () =>
        this.#puller.held === held && snapshot.version === version && this.#isStale(held) === stale,
      ...(invalid === 0 ? {} : { invalid }),
      ...this.#gaps(held),
    }
  }

  askLive(query: ListingQuery, signal: AbortSignal): Promise<Page> {
    const { live, upstream } = this.#parts
    const isBounded = query.reading === 'stretch' || query.offset + query.limit <= MAX_LIVE_PREFIX
    if (isBounded || this.mode === 'live') return live.source.ask(query, signal)
    throw new SourceError(
      'scan_limit',
      `${upstream.name}: only what is open can be read beyond ${MAX_LIVE_PREFIX}`,
    )
  }

  /** Asked live, it says so: `mode` is `live` then, and `lastError` is `too_large`. */
  status(): SourceDetails {
    const { held, failure, isTooLarge } = this.#puller
    const { gaps, ...live } = this.#parts.live.status()
    const status = { ...live, mode: this.mode, lastError: this.#puller.lastError ?? live.lastError }
    if (isTooLarge) return gaps === undefined ? status : { ...status, gaps }
    const state = failure === null ? 'not_yet_loaded' : 'unavailable'
    if (held === null || failure?.reason === 'unauthorized')
      return { ...status, state, ageSeconds: null, listings: null }
    return {
      ...status,
      state: this.#isStale(held) ? 'stale' : 'loaded',
      ageSeconds: this.#ageSeconds(held),
      listings: held.snapshot.listings.size,
      ...this.#gaps(held),
    }
  }

  /** Whether it has been through the gateway that was pulled, which would only be told again what it has said. */
  #isFromThere({ via }: ListingQuery): boolean {
    const teller = this.#puller.held?.teller
    return teller !== undefined && via?.includes(teller) === true
  }

  #gaps({ gaps }: Held): { gaps?: readonly Gap[] } {
    if (gaps === undefined) return {}
    const now = this.#parts.clock.now()
    return {
      gaps: gaps.map(({ heardAt, ...gap }) =>
        heardAt === undefined ? gap : { ...gap, ageSeconds: Math.max(0, now - heardAt) / 1000 },
      ),
    }
  }

  #notYetLoaded(): SourceError {
    return new SourceError(
      'not_yet_loaded',
      `${this.#parts.upstream.name}: its listings are still being pulled`,
    )
  }

  #ageSeconds({ takenAt }: Held): number {
    return Math.max(0, this.#parts.clock.now() - takenAt) / 1000
  }

  #ttlSeconds(held: Held): number {
    return STALE_PERIODS * this.#parts.upstream.refreshSeconds - this.#ageSeconds(held)
  }

  #isStale(held: Held): boolean {
    return held.isRestored || this.#ttlSeconds(held) < 0
  }
}
