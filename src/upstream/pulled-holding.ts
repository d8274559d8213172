import { type Clock, raceAbort, withDeadline } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { HeldAnswer, Holding } from '../domain/source/holding.ts'
import { DIRECTORY, joinMissing } from '../domain/source/missing-source.ts'
import type { SourceReason } from '../domain/source/reasons.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { UpstreamOptions } from '../domain/source/upstream.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { unsentFilters } from '../filter-spec/parameters.ts'
import type { KnownSpec } from '../filter-spec/upstream-spec.ts'
import type { CopyIndex } from '../listing-index/copy-index.ts'
import { createLookUp, type LookUp } from './look-up.ts'
import { canBeHeld, type ListingPage, type PageItem } from './page/listing-page.ts'
import { namesOf, pushDown, rejectionOf, UNFILTERED, type UpstreamQuery } from './push-down.ts'
import { fetchFirstPage } from './snapshot/first-page.ts'
import { WRONG } from './snapshot/held-listings.ts'
import { type Pull, type PullOptions, pull } from './snapshot/pull.ts'
import { Collected, learnFilters, newestOf, Snapshot } from './snapshot/snapshot.ts'

/** A Registry of so many listings is pulled without filters: a better copy that does not match hides a worse one that does. */
const MAX_UNFILTERED = 2000
/** What is younger answers further questions. */
const FRESH_MS = 5000
/** With the declared filters, and again after a 412, a refused filter and a second refusal. */
const MAX_ATTEMPTS = 4

type PulledSourceOptions = Pick<PullOptions, 'fetch' | 'get' | 'publishers'> & {
  upstream: Pick<UpstreamOptions, 'name'>
  clock: Clock
  index: CopyIndex
  priority: number
  spec: KnownSpec
  /** Their paths are indexed. */
  filters: () => readonly Filter[]
  /** Of a pull. */
  maxListings: number
  pullMs: number
  /** Whether no other source may have copies of its listings. */
  isAlone: boolean
  /** Whether an outage answers further questions, too. A circuit breaker does so better. */
  keepsOutage: boolean
}

type Pulled = Pick<HeldAnswer, 'asOf' | 'part' | 'missing'> &
  Pick<Pull, 'invalid'> & {
    sent: UpstreamQuery
    /** Why it has not all. */
    reason: SourceReason | undefined
    /** Whether the listings came newest first. */
    isSorted: boolean
    snapshot: Snapshot
    maxListings: number
    endedAt: number
  }

/** `left`: filters that the upstream has not applied. */
type Answer = { pulled: Pulled; left: readonly string[] }

type Kept = { result: Answer | SourceError; at: number }

/**
 * An upstream of which only is held what was asked: each question is answered from a pull within bounds, for which the upstream applies
 * the filters that it declares.
 */
export class PulledHolding implements Holding {
  readonly name: string
  readonly visibility = 'public'
  readonly priority: number
  readonly isOwn = false
  /** Any of them may be one. */
  readonly isGateway = true
  readonly #options: PulledSourceOptions
  readonly #lookUp: LookUp
  /** By question. */
  readonly #kept = new Map<string, Kept>()
  /** By what is sent. */
  readonly #running = new Map<string, Promise<Pulled>>()
  /** Until when the upstream counts as too large to be pulled without filters. */
  #largeUntil = Number.NEGATIVE_INFINITY

  constructor(options: PulledSourceOptions) {
    const { upstream, priority, fetch, publishers, clock } = options
    this.#options = options
    this.name = upstream.name
    this.priority = priority
    this.#lookUp = createLookUp({ name: upstream.name, fetch, publishers, freshMs: 0, clock })
  }

  readonly find: Holding['find'] = (question, signal) => this.#lookUp(question, signal)

  readonly answer: Holding['answer'] = (query) => {
    const kept = this.#kept.get(questionKey(query))
    if (kept === undefined) throw new SourceError('not_yet_loaded', `${this.name}: was not asked yet`)
    const { result } = kept
    if (result instanceof SourceError) throw result
    const { isAlone, publishers } = this.#options
    const { pulled, left } = result
    const { snapshot, asOf, reason, part, invalid, missing, isSorted } = pulled
    const { knowsPublishers } = snapshot
    // A listing without a known publisher may belong to the publisher of the query.
    const lacksPublishers = query.publisher !== null && !knowsPublishers
    return {
      source: snapshot.source,
      ...{ asOf, stale: false, reason, part, invalid: invalid || undefined },
      isAttributed: knowsPublishers || !publishers.isBehind,
      missing: lacksPublishers ? joinMissing(missing, DIRECTORY) : missing,
      isNewest: isAlone && isSorted && left.length === 0 && query.priceLimit === undefined,
      judged: namesOf(query).difference(new Set(left)),
      isCurrent: () => false,
    }
  }

  readonly fetch = (query: ListingQuery, signal: AbortSignal): Promise<void> =>
    raceAbort(this.#fetch(query), signal).catch((error) => {
      if (!(error instanceof SourceError)) throw error
    })

  readonly rows = (): number | null => this.#pulls.at(-1)?.snapshot.source ?? null

  readonly coverage: Holding['coverage'] = () => {
    const pulls = this.#pulls
    return pulls.length === 0 ? 'none' : pulls.every(isWhole) ? 'whole' : 'partial'
  }

  readonly prepare: Holding['prepare'] = () => null

  readonly follow: Holding['follow'] = () => () => {}

  /** The latest last. */
  get #pulls(): readonly Pulled[] {
    const results = [...this.#kept.values()].map(({ result }) => result)
    const pulls = results.flatMap((result) => (result instanceof SourceError ? [] : [result.pulled]))
    return [...new Set(pulls)].sort((a, b) => a.endedAt - b.endedAt)
  }

  /** Pulls what the question needs. A `SourceError` is its answer. */
  async #fetch(query: ListingQuery): Promise<void> {
    this.#forget()
    const kept = this.#kept.values().find(({ result }) => this.#isOutage(result)) ?? (await this.#ask(query))
    // A filter spec may have come since the pull.
    await learnFilters(this.#options.index, this.#options.filters())
    this.#kept.set(questionKey(query), kept)
  }

  /** Whether it answers further questions, too. */
  #isOutage(result: Kept['result']): boolean {
    return this.#options.keepsOutage && result instanceof SourceError && result.traits.isOutage
  }

  /** Drops what is too old to answer further questions. */
  #forget(): void {
    const now = this.#options.clock.monotonic()
    const before = this.#pulls
    for (const [key, { result, at }] of this.#kept)
      if (now - at >= FRESH_MS || (result instanceof SourceError && !this.#isOutage(result)))
        this.#kept.delete(key)
    const after = this.#pulls
    for (const pulled of before) if (!after.includes(pulled)) pulled.snapshot.dropLater(this.#options.clock)
  }

  async #ask(query: ListingQuery): Promise<Kept> {
    try {
      const result = await this.#pullFor(query)
      return { result, at: result.pulled.endedAt }
    } catch (error) {
      if (error instanceof SourceError) return { result: error, at: this.#options.clock.monotonic() }
      throw error
    }
  }

  /** @throws SourceError */
  async #pullFor(query: ListingQuery): Promise<Answer> {
    const { spec, isAlone, clock } = this.#options
    if (query.criteria.length > 0) await spec.loaded
    // Without an answer its own filters are not known.
    if (query.criteria.length > 0 && spec.current === null && spec.failure !== null) throw spec.failure
    const unfiltered = { ...UNFILTERED, status: query.status }
    const left = [...namesOf(query)]
    const kept = this.#pulls.find(({ sent }) => sentKey(sent) === sentKey(unfiltered))
    const { pushed } = this.#pushDown(query)
    if ((kept !== undefined && isWhole(kept)) || (pushed.length === 0 && query.publisher === null))
      return this.#pull(unfiltered, query, left)
    if (isAlone || clock.monotonic() < this.#largeUntil) return this.#askFiltered(query)
    const page = await fetchFirstPage(this.#options.fetch, unfiltered)
    if (page !== null && page.total <= MAX_UNFILTERED) return this.#pull(unfiltered, query, left, page)
    this.#largeUntil = clock.monotonic() + FRESH_MS
    return this.#askFiltered(query)
  }

  /** @throws SourceError */
  async #askFiltered(query: ListingQuery): Promise<Answer> {
    const { spec } = this.#options
    let refused: ReadonlySet<string> = new Set()
    for (let attempt = 1; ; attempt++) {
      const sent = this.#pushDown(query, refused)
      try {
        return await this.#pull(sent, query, unsentFilters(sent))
      } catch (error) {
        const rejection = rejectionOf(sent, error)
        if (rejection === null || attempt === MAX_ATTEMPTS) throw error
        if (rejection === 'other spec') await spec.refresh()
        else refused = rejection === 'all' || refused.size > 0 ? namesOf(query) : rejection
      }
    }
  }

  #pushDown({ status, publisher, criteria, filters }: ListingQuery, refused?: ReadonlySet<string>) {
    const asked = { status, publisher, criteria, filters }
    return pushDown(asked, this.#options.spec.current, { refused, sendsDerived: true })
  }

  /** Of a single source no more than the newest listings that the answer shows. */
  async #pull(
    sent: UpstreamQuery,
    { newest = Number.POSITIVE_INFINITY, priceLimit }: ListingQuery,
    left: readonly string[],
    page?: ListingPage,
  ): Promise<Answer> {
    const { isAlone } = this.#options
    const isEnough = isAlone && left.length === 0 && priceLimit === undefined
    const most = isEnough ? Math.min(newest, this.#options.maxListings) : this.#options.maxListings
    const isKept = ({ sent: before, part, maxListings }: Pulled): boolean =>
      sentKey(before) === sentKey(sent) && (part === undefined || maxListings >= most)
    const kept = this.#pulls.findLast(isKept)
    if (kept !== undefined) return { pulled: kept, left }
    const key = `${most} ${sentKey(sent)}`
    const running =
      this.#running.get(key) ?? this.#pullNow(sent, most, page).finally(() => this.#running.delete(key))
    this.#running.set(key, running)
    return { pulled: await running, left }
  }

  /** At most `maxListings`, the newest where the upstream is sorted, or what came in time, or before an outage. */
  async #pullNow(sent: UpstreamQuery, maxListings: number, firstPage?: ListingPage): Promise<Pulled> {
    const { upstream, index, filters, fetch, pullMs: ms, clock } = this.#options
    const { name } = upstream
    const askedAt = clock.monotonic()
    const timeoutError = () => new SourceError('timeout', `${name}: no answer within ${ms} ms`)
    const arrived = new Collected<PageItem>()
    let page = firstPage ?? null
    let last = Number.POSITIVE_INFINITY
    let isSorted = true
    const pullAll = async (until: AbortSignal): Promise<Pull> => {
      page ??= await fetchFirstPage(fetch, sent)
      until.throwIfAborted()
      const onItems = (items: readonly PageItem[]): void => {
        until.throwIfAborted()
        arrived.add(items)
        for (const { position } of items) {
          isSorted &&= position <= last
          last = position
        }
      }
      // The user named it, so a gateway's `_meta` is trusted; a plain Registry has none.
      const about = { ...upstream, kind: page?.isGateway === true ? 'gateway' : 'registry' } as const
      return pull({ ...this.#options, upstream: about, query: sent }, page, { maxListings, onItems })
    }
    let cut: SourceReason = 'too_large'
    const pulled = await withDeadline({ ms, timeoutError, caller: NEVER }, (until) =>
      raceAbort(pullAll(until), until),
    ).catch((error: unknown) => {
      if (!(error instanceof SourceError) || WRONG.includes(error.reason)) throw error
      cut = error.reason
      if (arrived.size === 0) arrived.add(page?.items.filter(canBeHeld) ?? [])
      if (arrived.size === 0) throw error
      return this.#partOf(arrived, page)
    })
    const { newest, partOf: all } = newestOf(pulled.listings, { maxListings })
    const { partOf = all, ageSeconds = 0, invalid, missing } = pulled
    await learnFilters(index, filters())
    const { next: snapshot, make } = await new Snapshot(index, name, sent.status).changeTo(newest)
    make()
    const isPart = partOf !== undefined
    const part = isPart ? ({ state: 'partial', held: snapshot.size, of: partOf } as const) : undefined
    const asOf = askedAt - ageSeconds * 1000
    const about = { reason: isPart ? cut : undefined, isSorted, invalid, missing }
    return { sent, snapshot, maxListings, asOf, endedAt: clock.monotonic(), part, ...about }
  }

  /** What has arrived, as a pull that has ended. */
  async #partOf({ listings, withoutRoom }: Collected<PageItem>, page: ListingPage | null): Promise<Pull> {
    const { missing, ageSeconds, total = 0 } = page ?? {}
    await this.#options.publishers.attribute([...listings.values()])
    const items = [...listings].map(([key, item]) => [key, item.toItem()] as const)
    const partOf = listings.size < total ? total : undefined
    return { listings: new Map(items), invalid: withoutRoom, partOf, missing, ageSeconds }
  }
}

const NEVER = new AbortController().signal

const isWhole = ({ sent, part }: Pulled): boolean =>
  sent.pushed.length === 0 && sent.publisher === null && part === undefined

function questionKey({ status, publisher, filters, criteria, newest }: ListingQuery): string {
  return JSON.stringify([status, publisher, newest, filters, criteria.map(({ filter }) => filter.name)])
}

function sentKey({ status, publisher, pushed }: UpstreamQuery): string {
  return JSON.stringify([status, publisher, pushed])
}
