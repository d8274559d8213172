import { raceAbort, withDeadline } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Held, HeldCopy } from '../domain/source/held.ts'
import { HeldChanges } from '../domain/source/held-changes.ts'
import { DIRECTORY, joinMissing } from '../domain/source/missing-source.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Range, Reading, ReadingInfo } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { unsentFilters } from '../filter-spec/parameters.ts'
import type { KnownSpec } from '../filter-spec/upstream-spec.ts'
import { type BoundedPull, type BoundedPullOptions, fetchFirstPage, pullWithin } from './bounded-pull.ts'
import { createLookUp } from './look-up.ts'
import type { ListingPage } from './page/listing-page.ts'
import { namesOf, pushDown, rejectionOf, UNFILTERED, type UpstreamQuery } from './push-down.ts'
import { Snapshot } from './snapshot/snapshot.ts'

/** A Registry of so many listings is pulled without filters: a better copy that does not match hides a worse one that does. */
const MAX_UNFILTERED = 2000
/** What is younger answers further questions. */
const FRESH_MS = 5000
/** With the declared filters, and again after a 412, a refused filter and a second refusal. */
const MAX_ATTEMPTS = 4

type PulledSourceOptions = BoundedPullOptions & {
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

type Pulled = Pick<ReadingInfo, 'asOf' | 'part' | 'missing'> &
  Pick<BoundedPull, 'reason' | 'invalid' | 'isSorted'> & {
    sent: UpstreamQuery
    snapshot: Snapshot
    maxListings: number
    endedAt: number
  }

/** `left`: filters that the upstream has not applied. */
type Answer = { pulled: Pulled; left: readonly string[] }

/**
 * An upstream of which only is held what was asked: each question is answered from a pull within bounds, for which the upstream applies
 * the filters that it declares.
 */
export class PulledSource implements Pick<NamedSource, 'read' | 'select' | 'readWhole' | 'held'> {
  readonly #options: PulledSourceOptions
  readonly #changes = new HeldChanges()
  readonly #lookUp: ReturnType<typeof createLookUp>
  /** By what was sent; the latest last. */
  readonly #pulls = new Map<string, Pulled>()
  readonly #running = new Map<string, Promise<Pulled>>()
  readonly #firstPages = new Map<string, { page: Promise<ListingPage | null>; askedAt: number }>()
  /** By question. */
  readonly #answers = new Map<string, Answer | SourceError>()
  #outage: { error: SourceError; at: number } | null = null

  constructor(options: PulledSourceOptions) {
    const { upstream, fetch, publishers, clock } = options
    this.#options = options
    const checkSchema = () => Promise.resolve()
    this.#lookUp = createLookUp({ name: upstream.name, fetch, publishers, checkSchema, freshMs: 0, clock })
  }

  readonly read: NamedSource['read'] = async (query, range, signal) => {
    if (query.listingId !== undefined) return this.#lookUp({ ...query, listingId: query.listingId }, signal)
    const answer = await this.#answerTo(query, signal)
    const rows = await answer.pulled.snapshot.read(leftOf(answer, query), range)
    const reading = { ...this.#info(answer, query), ...rows }
    return this.#options.isAlone && isOfNewest(answer, query) ? withoutPart(answer, reading, range) : reading
  }

  readonly select: NonNullable<NamedSource['select']> = async (query, signal) => {
    const answer = await this.#answerTo(query, signal)
    const matches = await answer.pulled.snapshot.select(leftOf(answer, query))
    return { ...matches, ...this.#info(answer, query) }
  }

  /** Rejects with the failure: what was pulled is `held`. */
  readonly readWhole: NonNullable<NamedSource['readWhole']> = async (query, signal) => {
    await this.#answerTo(query as ListingQuery, signal)
    return null
  }

  readonly held: Held = {
    fetch: async (query, signal) => {
      await raceAbort(this.#fetch(query), signal).catch((error: unknown) => {
        if (!(error instanceof SourceError)) throw error
      })
    },
    answers: (query) => {
      const answer = query.listingId === undefined ? this.#answers.get(questionKey(query)) : undefined
      return answer !== undefined && !(answer instanceof SourceError)
    },
    find: (listingId) => this.#find(listingId),
    ids: () => this.#ids(),
    coverage: () =>
      this.#pulls.size === 0 ? 'none' : this.#pulls.values().every(isWhole) ? 'whole' : 'partial',
    prepare: () => null,
    onChange: this.#changes.listen,
    follow: this.#changes.follow,
  }

  /** Of several pulls the latest counts. */
  #find(listingId: string): readonly HeldCopy[] {
    const copies = new Map<string, HeldCopy>()
    for (const { snapshot, sent } of this.#pulls.values())
      for (const copy of snapshot.find(listingId))
        copies.set(copy.key, { ...copy, status: sent.status ?? 'open' })
    return [...copies.values()]
  }

  *#ids(): Generator<string> {
    for (const { snapshot } of this.#pulls.values()) yield* snapshot.listingIds
  }

  /** @throws SourceError */
  async #answerTo(query: ListingQuery, signal: AbortSignal): Promise<Answer> {
    const key = questionKey(query)
    if (!this.#answers.has(key)) await raceAbort(this.#fetch(query), signal)
    const answer = this.#answers.get(key)!
    if (answer instanceof SourceError) throw answer
    return answer
  }

  /** Pulls what the question needs. A `SourceError` is its answer. */
  async #fetch(query: ListingQuery): Promise<void> {
    this.#forget()
    const { keepsOutage, clock } = this.#options
    const answer = await this.#ask(query).catch((error: unknown) => {
      if (!(error instanceof SourceError)) throw error
      if (keepsOutage && error.traits.isOutage) this.#outage ??= { error, at: clock.monotonic() }
      return error
    })
    this.#answers.set(questionKey(query), answer)
  }

  /** Drops what is too old to answer further questions. */
  #forget(): void {
    const { clock } = this.#options
    const isOld = (at: number): boolean => clock.monotonic() - at >= FRESH_MS
    if (this.#outage !== null && isOld(this.#outage.at)) this.#outage = null
    for (const [key, { askedAt }] of this.#firstPages) if (isOld(askedAt)) this.#firstPages.delete(key)
    for (const [key, answer] of this.#answers)
      if (answer instanceof SourceError || isOld(answer.pulled.endedAt)) this.#answers.delete(key)
    for (const [key, { endedAt, snapshot }] of this.#pulls) {
      if (!isOld(endedAt)) continue
      this.#pulls.delete(key)
      this.#changes.emit(() => snapshot.listingIds)
    }
  }

  /** @throws SourceError */
  async #ask(query: ListingQuery): Promise<Answer> {
    const { spec, isAlone } = this.#options
    if (this.#outage !== null) throw this.#outage.error
    if (query.criteria.length > 0) await spec.loaded
    const unfiltered = { ...UNFILTERED, status: query.status }
    const kept = this.#pulls.get(sentKey(unfiltered))
    const { pushed } = this.#pushDown(query)
    const isUnfiltered =
      (kept !== undefined && isWhole(kept)) ||
      (pushed.length === 0 && query.publisher === null) ||
      (!isAlone && (await this.#isSmall(unfiltered)))
    return isUnfiltered ? this.#pull(unfiltered, query, [...namesOf(query)]) : this.#askFiltered(query)
  }

  async #isSmall(unfiltered: UpstreamQuery): Promise<boolean> {
    const page = await this.#firstPage(unfiltered)
    return page !== null && page.total <= MAX_UNFILTERED
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
        if (rejection === 'other spec') await spec.recheck(spec.current)
        else refused = rejection === 'all' || refused.size > 0 ? namesOf(query) : rejection
      }
    }
  }

  #pushDown({ status, publisher, criteria, filters }: ListingQuery, refused?: ReadonlySet<string>) {
    const asked = { status, publisher, criteria, filters }
    return pushDown(asked, this.#options.spec.current, { refused, sendsDerived: true })
  }

  #firstPage(sent: UpstreamQuery): Promise<ListingPage | null> {
    const key = sentKey(sent)
    const before = this.#firstPages.get(key)
    if (before !== undefined) return before.page
    const { fetch, clock } = this.#options
    const page = fetchFirstPage(fetch, sent)
    this.#firstPages.set(key, { page, askedAt: clock.monotonic() })
    page.catch(() => this.#firstPages.delete(key))
    return page
  }

  /** Of a single source no more than the newest listings that the answer shows. */
  async #pull(
    sent: UpstreamQuery,
    { newest = Number.POSITIVE_INFINITY, priceLimit }: ListingQuery,
    left: readonly string[],
  ): Promise<Answer> {
    const { isAlone, maxListings } = this.#options
    const isEnough = isAlone && left.length === 0 && priceLimit === undefined
    const most = isEnough ? Math.min(newest, maxListings) : maxListings
    const kept = this.#pulls.get(sentKey(sent))
    if (kept !== undefined && (kept.part === undefined || kept.maxListings >= most))
      return { pulled: kept, left }
    const key = `${most} ${sentKey(sent)}`
    const running =
      this.#running.get(key) ?? this.#pullNow(sent, most).finally(() => this.#running.delete(key))
    this.#running.set(key, running)
    return { pulled: await running, left }
  }

  async #pullNow(sent: UpstreamQuery, maxListings: number): Promise<Pulled> {
    const { upstream, filters, pullMs: ms, clock } = this.#options
    const { name } = upstream
    const askedAt = clock.monotonic()
    const timeoutError = () => new SourceError('timeout', `${name}: no answer within ${ms} ms`)
    const asked = { query: sent, page: this.#firstPage(sent), maxListings }
    const {
      listings,
      partOf,
      ageSeconds = 0,
      ...about
    } = await withDeadline({ ms, timeoutError, caller: NEVER }, (until) =>
      pullWithin(this.#options, asked, until),
    )
    this.#firstPages.delete(sentKey(sent))
    const { reason, isSorted, invalid, missing } = about
    const change = await new Snapshot(name, filters()).changeTo(listings, filters())
    const snapshot = change.make()
    const part =
      partOf === undefined ? undefined : ({ state: 'partial', held: snapshot.size, of: partOf } as const)
    const asOf = askedAt - ageSeconds * 1000
    const endedAt = clock.monotonic()
    const pulled = { sent, snapshot, maxListings, asOf, endedAt, part, reason, isSorted, invalid, missing }
    this.#pulls.set(sentKey(sent), pulled)
    this.#changes.emit(() => snapshot.listingIds)
    return pulled
  }

  #info({ pulled }: Answer, { publisher }: ListingQuery): Omit<ReadingInfo, 'total'> {
    const { snapshot, asOf, reason, part, invalid, missing } = pulled
    // A listing without a known publisher may belong to the publisher of the query.
    const lacksPublishers = publisher !== null && !snapshot.knowsPublishers
    return {
      ...{ asOf, stale: false, reason, part, invalid: invalid || undefined },
      isAttributed: snapshot.knowsPublishers || !this.#options.publishers.isBehind,
      missing: lacksPublishers ? joinMissing(missing, DIRECTORY) : missing,
    }
  }
}

const NEVER = new AbortController().signal

const isWhole = ({ sent, part }: Pulled): boolean =>
  sent.pushed.length === 0 && sent.publisher === null && part === undefined

/** Whether what was pulled are the newest matches. */
const isOfNewest = ({ pulled, left }: Answer, { priceLimit }: ListingQuery): boolean =>
  pulled.isSorted && left.length === 0 && priceLimit === undefined

/** A full page of the newest matches lacks nothing. */
function withoutPart({ pulled: { part } }: Answer, reading: Reading, { count }: Range): Reading {
  if (part === undefined || reading.listings.length < count) return reading
  return { ...reading, part: undefined, reason: undefined, hasMore: true, total: part.of ?? reading.total }
}

/** The query with what is left to be evaluated. */
function leftOf({ left }: Answer, query: ListingQuery): ListingQuery {
  const criteria = query.criteria.filter(({ filter }) => left.includes(filter.name))
  return criteria.length === query.criteria.length ? query : { ...query, criteria }
}

function questionKey({ status, publisher, filters, criteria, newest }: ListingQuery): string {
  return JSON.stringify([status, publisher, newest, filters, criteria.map(({ filter }) => filter.name)])
}

function sentKey({ status, publisher, pushed }: UpstreamQuery): string {
  return JSON.stringify([status, publisher, pushed])
}
