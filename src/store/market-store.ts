import type { ApiKey, KeyUseStorage } from '../domain/api-key.ts'
import type { AuditBounds, AuditEntry, NewAuditEntry } from '../domain/audit.ts'
import type { Block, NewBlock } from '../domain/block.ts'
import type { PublisherIdentity } from '../domain/publisher.ts'
import type { Micros } from '../domain/timestamp.ts'
import { DROPPED_USES, droppedUses, expiryOf, guardKeys, hasUse, reserve, settle } from './guard.ts'
import { AuditLog, RowFeed, rowKeyUses, trim } from './logs.ts'
import * as market from './market.ts'
import { apiKeyKey, blockKey, changeFrom, identityKey, kindOf, packRows, publisherKey } from './records.ts'
import { type Place, placeOf, type Row, type Rows, type RowsRead, type Space } from './rows.ts'
import {
  type Change,
  type ChangelogPosition,
  type LoadVisitor,
  type NewKey,
  type PublishCommand,
  type PublishOutcome,
  type RecordedAnswer,
  type RemoveCommand,
  type RemoveOutcome,
  type Reservation,
  type RetireCommand,
  type RetireOutcome,
  type RotateCommand,
  type RotateOutcome,
  requireLaterUses,
  type SignedOperation,
  SPENT_SIGNATURES,
  type Store,
  storeClosed,
  type UpdateCommand,
  type UpdateOutcome,
  type Use,
  type UseKey,
  type WriteRequest,
} from './store.ts'
import { type Draft, Writer } from './writer.ts'

export type MarketStoreOptions = {
  /** Removed listings that are kept at least. Default `REMOVED_KEPT`; a reader of an older position loads again. */
  changelogLength?: number | undefined
  /** Default `SPENT_SIGNATURES`. */
  spentSignatures?: number | undefined
}

export const REMOVED_KEPT = 100_000
/** Uses and removals between two trims, which cost about a write. */
const TRIM_EVERY = 1000
const LOAD_PAGE = 1000
const LISTING_SPACES = ['listings', 'removed'] as const
/** What replicas follow. */
const FOLLOWED_SPACES = ['registry', ...LISTING_SPACES] as const
const POSITION = /^\d{1,16}$/
/** Of the space `logs`: the time of the latest removal that is not kept. */
const REMOVALS_DROPPED = 'removals dropped'
/** Publishers whose number is remembered. */
const MAX_HINTS = 10_000

/** The market over rows: its rules decide, and what they put is committed. */
export class MarketStore implements Store {
  readonly rows: Rows
  readonly feed: RowFeed
  readonly keyUses: KeyUseStorage
  readonly #writer: Writer
  readonly #audit: AuditLog
  readonly #removedKept: number
  readonly #usesKept: number
  /** Numbers by `identityKey`: what is probably read next. */
  readonly #hints = new Map<string, number>()
  #untrimmed = { uses: 0, removals: 0 }
  #closing: Promise<void> | undefined

  constructor(
    rows: Rows,
    { changelogLength = REMOVED_KEPT, spentSignatures = SPENT_SIGNATURES }: MarketStoreOptions,
  ) {
    this.rows = rows
    this.#writer = new Writer(rows)
    this.#removedKept = changelogLength
    this.#usesKept = spentSignatures
    const parts = { rows, writer: this.#writer }
    this.feed = new RowFeed(parts)
    this.keyUses = rowKeyUses(parts)
    this.#audit = new AuditLog(parts)
  }

  publish(command: PublishCommand): Promise<PublishOutcome> {
    return this.#mutate('publish', command, (draft) => market.publish(draft, command))
  }

  update(command: UpdateCommand): Promise<UpdateOutcome> {
    return this.#mutate('update', command, (draft) => market.update(draft, command))
  }

  async remove(command: RemoveCommand): Promise<RemoveOutcome> {
    const outcome = await this.#mutate('remove', command, (draft) => market.remove(draft, command))
    if (outcome.outcome === 'removed') await this.#trimRemovals()
    return outcome
  }

  async hasUse(key: UseKey): Promise<boolean> {
    const places = guardKeys(key.operation, key.listingId, { ...key, body: '', expiresAt: 0, now: 0 })
    const { rows } = await this.rows.get(places.map((one) => placeOf('guard', one)))
    return hasUse(key, rows)
  }

  async reserve(request: WriteRequest): Promise<Reservation> {
    const places = [placeOf('guard', request.requestKey), placeOf('facts', DROPPED_USES)]
    const reservation = await this.#run((draft) => reserve(draft, request), places)
    await this.#trimUses(request.now)
    return reservation
  }

  settle(request: WriteRequest, answer: RecordedAnswer | null): Promise<void> {
    return this.#run((draft) => settle(draft, request, answer), [placeOf('guard', request.requestKey)])
  }

  rotate(command: RotateCommand): Promise<RotateOutcome> {
    return this.#run(
      (draft) => market.rotate(draft, command),
      [
        placeOf('guard', command.use.requestKey),
        placeOf('registry', publisherKey(command.publisherId)),
        placeOf('facts', identityKey(command.intent.replacement)),
      ],
    )
  }

  retire(command: RetireCommand): Promise<RetireOutcome> {
    return this.#run(
      (draft) => market.retire(draft, command),
      [placeOf('guard', command.use.requestKey), placeOf('registry', publisherKey(command.publisherId))],
    )
  }

  addKey(key: NewKey): Promise<ApiKey> {
    return this.#run((draft) => market.addKey(draft, key))
  }

  seedKey(key: NewKey): Promise<ApiKey | null> {
    return this.#run((draft) => market.seedKey(draft, key))
  }

  replaceKey(id: number, endsAt: Micros, key: NewKey): Promise<ApiKey | null> {
    return this.#run(
      (draft) => market.replaceKey(draft, id, endsAt, key),
      [placeOf('registry', apiKeyKey(id))],
    )
  }

  revokeKey(id: number): Promise<ApiKey | null> {
    return this.#run((draft) => market.revokeKey(draft, id), [placeOf('registry', apiKeyKey(id))])
  }

  addBlock(block: NewBlock): Promise<Block> {
    return this.#run((draft) => market.addBlock(draft, block))
  }

  endBlock(id: number, onlyIfDue = false): Promise<Block | null> {
    return this.#run((draft) => market.endBlock(draft, id, onlyIfDue), [placeOf('registry', blockKey(id))])
  }

  appendAudit(entry: NewAuditEntry, bounds: AuditBounds): Promise<AuditEntry> {
    if (this.#closing !== undefined) return Promise.reject(storeClosed())
    return this.#audit.append(entry, bounds)
  }

  readAudit(since: Micros | null, limit: number): Promise<AuditEntry[]> {
    return this.#audit.read(since, limit)
  }

  async load(visitor: LoadVisitor): Promise<ChangelogPosition> {
    const registry: Row[] = []
    let position: Micros | undefined
    for await (const { rows, end } of this.#pages('registry')) {
      // That of the first page: later changes come after this position.
      position ??= end
      registry.push(...rows)
    }
    registry.sort((one, other) => rank(one) - rank(other) || one.createdAt - other.createdAt)
    for (const row of registry) visitor.change(changeFrom(row))
    for await (const { rows } of this.#pages('listings')) {
      const page = rows.filter(({ at }) => at <= position!)
      if (page.length > 0) await visitor.listings(packRows(page))
      // It may have been visited. Leaves new ones to the changes behind the position: their publishers may not have been visited.
      for (const row of rows)
        if (row.at > position! && row.createdAt <= position!) visitor.change(changeFrom(row))
    }
    return String(position)
  }

  async changesAfter(position: ChangelogPosition, limit: number) {
    if (!POSITION.test(position)) return 'lost'
    const changes: Change[] = []
    for (let from = Number(position); ; ) {
      // The listings first: then the publisher of each, and what was dropped meanwhile, is known.
      const [read, registry, about] = await Promise.all([
        this.rows.after(LISTING_SPACES, from, limit),
        this.#registryAfter(from),
        this.rows.get([placeOf('logs', REMOVALS_DROPPED)]),
      ])
      const droppedTo = Number(about.rows[0]?.value ?? 0)
      if (!read.isKnown || (from > 0 && from < droppedTo)) return 'lost'
      const { rows, hasMore } = firstOf(read, Math.max(1, limit - changes.length - registry.length))
      changes.push(...[...registry, ...rows].map(changeFrom))
      from = hasMore ? rows.at(-1)!.at : Math.max(from, read.end)
      if (!hasMore || changes.length >= limit) return { changes, position: String(from) }
    }
  }

  /** In the order in which publishers, keys and blocks were added. */
  async #registryAfter(from: Micros): Promise<Row[]> {
    const registry: Row[] = []
    for (let at = from, hasMore = true; hasMore; ) {
      const read = await this.rows.after(['registry'], at, LOAD_PAGE)
      registry.push(...read.rows)
      hasMore = read.hasMore
      at = read.rows.at(-1)?.at ?? at
    }
    return registry.sort((one, other) => one.createdAt - other.createdAt)
  }

  onChange(notify: () => void): () => void {
    return this.rows.onChange((spaces) => {
      if (FOLLOWED_SPACES.some((space) => spaces.has(space))) notify()
    })
  }

  async ping(): Promise<void> {
    if (this.#closing !== undefined) throw storeClosed()
    await this.rows.ping()
    const [dropped] = (await this.rows.get([placeOf('facts', DROPPED_USES)])).rows
    requireLaterUses(droppedUses(dropped!).expiredBy)
  }

  close(): Promise<void> {
    this.#closing ??= this.#writer.drained().then(() => this.rows.close())
    return this.#closing
  }

  async #mutate<T>(
    operation: SignedOperation,
    command: RemoveCommand,
    rule: (draft: Draft) => T,
  ): Promise<T> {
    const { identity, listingId, use } = command
    const outcome = await this.#run(
      (draft) => {
        const result = rule(draft)
        this.#remember(identity, draft)
        return result
      },
      this.#placesOf(operation, identity, listingId, use),
    )
    await this.#trimUses(use.now)
    return outcome
  }

  #placesOf(operation: SignedOperation, identity: PublisherIdentity, listingId: string, use: Use): Place[] {
    const hint = this.#hints.get(identityKey(identity))
    const known = hint === undefined ? [] : [publisherKey(hint)]
    return [
      placeOf('listings', listingId),
      placeOf('facts', identityKey(identity)),
      placeOf('facts', DROPPED_USES),
      ...known.map((key) => placeOf('registry', key)),
      ...(hint === undefined ? [] : [placeOf('facts', market.countOf(hint))]),
      ...guardKeys(operation, listingId, use).map((key) => placeOf('guard', key)),
    ]
  }

  #remember(identity: PublisherIdentity, draft: Draft): void {
    const key = identityKey(identity)
    if (this.#hints.has(key)) return
    const publisher = market.publisherOf(draft, identity)
    if (publisher === null) return
    if (this.#hints.size >= MAX_HINTS) this.#hints.clear()
    this.#hints.set(key, publisher.publisherId)
  }

  #run<T>(rule: (draft: Draft) => T, places: readonly Place[] = []): Promise<T> {
    return this.#closing === undefined ? this.#writer.run(rule, places) : Promise.reject(storeClosed())
  }

  async *#pages(space: Space): AsyncGenerator<RowsRead> {
    let next: Promise<RowsRead> | null = this.rows.after([space], 0, LOAD_PAGE, true)
    while (next !== null) {
      const page: RowsRead = await next
      next = page.hasMore ? this.rows.after([space], page.rows.at(-1)!.at, LOAD_PAGE, true) : null
      next?.catch(() => {}) // prefetched: awaited in the next turn, unless the visit throws
      yield page
    }
  }

  /** Keeps uses that are not good by their own time, `usesKept` at least: the clock may have been ahead. */
  async #trimUses(now: Micros): Promise<void> {
    if (++this.#untrimmed.uses < Math.min(TRIM_EVERY, this.#usesKept)) return
    this.#untrimmed.uses = 0
    await trim(
      { rows: this.rows, writer: this.#writer },
      'guard',
      (row, { rows }) => rows > this.#usesKept && expiryOf(row) <= now,
      (draft, going) => {
        const { expiredBy, closedAt } = droppedUses(draft.get('facts', DROPPED_USES))
        const latest = Math.max(expiredBy, ...going.map(expiryOf))
        draft.put('facts', DROPPED_USES, JSON.stringify({ expiredBy: latest, closedAt }))
      },
    )
  }

  async #trimRemovals(): Promise<void> {
    if (++this.#untrimmed.removals < Math.min(TRIM_EVERY, this.#removedKept)) return
    this.#untrimmed.removals = 0
    await trim(
      { rows: this.rows, writer: this.#writer },
      'removed',
      (_, { rows }) => rows > this.#removedKept,
      (draft, going) => {
        const before = Number(draft.get('logs', REMOVALS_DROPPED)?.value ?? 0)
        draft.put('logs', REMOVALS_DROPPED, String(Math.max(before, going.at(-1)!.at)))
      },
    )
  }
}

/** The order of a load. */
const RANK: Readonly<Record<string, number>> = { block: 0, key: 1, publisher: 2 }
const rank = (row: Row): number => RANK[kindOf(row)] ?? 0

/** At most so many rows, and those of the time of the last one. */
function firstOf({ rows, hasMore }: RowsRead, limit: number): Pick<RowsRead, 'rows' | 'hasMore'> {
  const last = rows[limit - 1]
  if (last === undefined) return { rows, hasMore }
  const first = rows.filter(({ at }) => at <= last.at)
  return { rows: first, hasMore: hasMore || first.length < rows.length }
}
