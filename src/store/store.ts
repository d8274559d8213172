import type { ApiKey, KeyUseStorage } from '../domain/api-key.ts'
import type { AuditBounds, AuditEntry, NewAuditEntry } from '../domain/audit.ts'
import type { Block, NewBlock } from '../domain/block.ts'
import { Emitter } from '../domain/emitter.ts'
import type { PublisherIdentity } from '../domain/publisher.ts'
import type { Micros } from '../domain/timestamp.ts'
import type {
  Change,
  ChangelogPosition,
  LoadVisitor,
  NewKey,
  PublishCommand,
  PublishOutcome,
  RecordedAnswer,
  RemoveCommand,
  RemoveOutcome,
  Reservation,
  RetireCommand,
  RetireOutcome,
  RotateCommand,
  RotateOutcome,
  SignedOperation,
  StoreCall,
  StoreOperation,
  UpdateCommand,
  UpdateOutcome,
  UseKey,
  WriteRequest,
} from './commands.ts'
import { Feed } from './feed.ts'
import * as guard from './guard.ts'
import { appendAudit, dropped, keyUses, type Parts, readAudit, trim } from './logs.ts'
import * as market from './market.ts'
import { changeFrom, identityKey, publisherKey } from './records.ts'
import { type Place, placeOf, type Row, type Rows, type RowsRead, type Space, storeClosed } from './rows.ts'
import { type Draft, Writer } from './writer.ts'

export type StoreOptions = {
  /** Used signatures that are kept at least. */
  usesKept?: number | undefined
  /** Removed listings that are kept at least; a reader of an older position loads again. */
  removedKept?: number | undefined
}

/** About 30 MB. In a Registry that is less busy they are those of the last hours or days. */
const USES_KEPT = 100_000
const REMOVED_KEPT = 100_000
/** Uses and removals between two trims, which cost about a write. */
const TRIM_EVERY = 1000
const LOAD_PAGE = 1000
/** What replicas follow. */
const FOLLOWED_SPACES = ['registry', 'listings', 'removed'] as const
const POSITION = /^\d{1,16}$/
/** In the space `removed`, where it is no listing: the time of the latest removal that is not kept. */
const DROPPED = ''
/** Publishers whose number is remembered. */
const MAX_HINTS = 10_000

/**
 * The market over rows: its rules decide, and what they put is committed. Each mutation is atomic, and durable when it resolves. Times
 * rise strictly with every mutation, across replicas. Calls reject with `StoreUnavailable` if the rows cannot be reached.
 * `test/integration/store/contract.ts` tests it over every kind of rows.
 */
export class Store {
  readonly rows: Rows
  /** The log behind `GET /changes`. A copy of the store has a new one. */
  readonly feed: Feed
  readonly keyUses: KeyUseStorage
  readonly #writer: Writer
  readonly #parts: Parts
  readonly #kept: { guard: number; removed: number }
  readonly #untrimmed = { guard: 0, removed: 0 }
  /** Numbers by `identityKey`: what is probably read next. */
  readonly #hints = new Map<string, number>()
  readonly #calls = new Emitter<StoreCall>()
  /** Calls back when a call ends. */
  readonly onCall = this.#calls.listen
  #closing: Promise<void> | undefined

  constructor(rows: Rows, { usesKept = USES_KEPT, removedKept = REMOVED_KEPT }: StoreOptions) {
    this.rows = rows
    this.#writer = new Writer(rows)
    this.#kept = { guard: usesKept, removed: removedKept }
    this.#parts = { rows, writer: this.#writer }
    this.feed = new Feed(this.#parts)
    this.keyUses = keyUses(this.#parts)
  }

  /**
   * Absent fields are kept, or take `NEW_LISTING_FIELDS`. Replacing keeps `created_at`. Refuses rows beyond
   * `MAX_LISTING_BYTES`.
   */
  publish(command: PublishCommand): Promise<PublishOutcome> {
    return this.#call('publish', () => this.#mutate('publish', command, market.publish))
  }

  /** Always moves `updated_at`. */
  update(command: UpdateCommand): Promise<UpdateOutcome> {
    return this.#call('update', () => this.#mutate('update', command, market.update))
  }

  /** The publisher stays. */
  remove(command: RemoveCommand): Promise<RemoveOutcome> {
    return this.#call('delete', async () => {
      const outcome = await this.#mutate('remove', command, market.remove)
      if (outcome.outcome === 'removed') await this.#trim('removed', () => true, dropped('removed', DROPPED))
      return outcome
    })
  }

  /**
   * Whether a use of that signature for that operation on that listing is known, with any body.
   * @param writer whose mutation follows: what it needs is read along
   */
  hasUse(key: UseKey, writer?: PublisherIdentity): Promise<boolean> {
    return this.#call('read', async () => {
      const { operation, listingId } = key
      // A write that waits for others is read with them.
      const readsAlong = writer !== undefined && this.#writer.isIdle
      const places = readsAlong
        ? this.#placesOf(operation, { identity: writer, listingId, use: key })
        : guard.placesOf(operation, listingId, key)
      return guard.hasUse(key, (await this.rows.get(places)).rows)
    })
  }

  /** Begins a write of the signed line, or gives what became known of it: see `WriteRequest`. */
  reserve(request: WriteRequest): Promise<Reservation> {
    return this.#call('request', async () => {
      const places = [placeOf('guard', request.requestKey), placeOf('facts', guard.DROPPED_USES)]
      const reservation = await this.#writer.run((draft) => guard.reserve(draft, request), places)
      await this.#trimUses(request.now)
      return reservation
    })
  }

  /** Keeps the answer for repeats. `null` lets the next try begin at once. */
  settle(request: WriteRequest, answer: RecordedAnswer | null): Promise<void> {
    const places = [placeOf('guard', request.requestKey)]
    return this.#write('request', (draft) => guard.settle(draft, request, answer), places)
  }

  /** The publisher keeps its id and its listings. */
  rotate(command: RotateCommand): Promise<RotateOutcome> {
    const places = [...placesOfRotation(command), placeOf('facts', identityKey(command.intent.replacement))]
    return this.#write('publish', (draft) => market.rotate(draft, command), places)
  }

  /** Ends the overlap of a rotation. */
  retire(command: RetireCommand): Promise<RetireOutcome> {
    return this.#write('publish', (draft) => market.retire(draft, command), placesOfRotation(command))
  }

  /** Ids are never reused. */
  addKey(key: NewKey): Promise<ApiKey> {
    return this.#write('key', (draft) => market.addKey(draft, key))
  }

  /** `null` if the store has ever had a key, revoked ones included. */
  seedKey(key: NewKey): Promise<ApiKey | null> {
    return this.#write('key', (draft) => market.seedKey(draft, key))
  }

  /** Adds a key, and lets another expire at `endsAt` or before. `null`, and no change, where that one is unknown or revoked. */
  replaceKey(id: number, endsAt: Micros, key: NewKey): Promise<ApiKey | null> {
    return this.#write('key', (draft) => market.replaceKey(draft, id, endsAt, key))
  }

  /** The first `revokedAt` stays. `null` for an unknown id. */
  revokeKey(id: number): Promise<ApiKey | null> {
    return this.#write('key', (draft) => market.revokeKey(draft, id))
  }

  /** Ids are never reused. */
  addBlock(block: NewBlock): Promise<Block> {
    return this.#write('block', (draft) => market.addBlock(draft, block))
  }

  /**
   * The first `endedAt` stays. `null` for an unknown id.
   * @param onlyIfDue ends it only where `until` has come, by the store's clock
   */
  endBlock(id: number, onlyIfDue = false): Promise<Block | null> {
    return this.#write('block', (draft) => market.endBlock(draft, id, onlyIfDue))
  }

  /** Times rise. Drops the oldest of each kind beyond its bounds, `MAX_DROPS` at most; nothing else is changed or removed. */
  appendAudit(entry: NewAuditEntry, bounds: AuditBounds): Promise<AuditEntry> {
    return this.#call('audit', () => appendAudit(this.#parts, entry, bounds))
  }

  /** Of both kinds, oldest first: at most `limit` after a time, or the latest ones. */
  readAudit(since: Micros | null, limit: number): Promise<AuditEntry[]> {
    return this.#call('read', () => readAudit(this.#parts, since, limit))
  }

  /**
   * Visits blocks, keys and publishers by age, then listings in any order, each once; one that changes meanwhile comes as a change, which
   * is later than its page. `changesAfter` the position that it returns misses nothing, and may repeat.
   */
  async load(visitor: LoadVisitor): Promise<ChangelogPosition> {
    const registry: Row[] = []
    let position: Micros | undefined
    for await (const { rows, end } of this.#pages('registry')) {
      // That of the first page: later changes come after this position.
      position ??= end
      registry.push(...rows)
    }
    registry.sort((one, other) => one.createdAt - other.createdAt)
    for (const row of registry) visitor.change(changeFrom(row))
    for await (const { rows } of this.#pages('listings')) {
      const isOld = rows.length === 0 || rows.at(-1)!.at <= position!
      const page = isOld ? rows : rows.filter(({ at }) => at <= position!)
      if (page.length > 0) await visitor.listings(page)
      // It may have been visited. Leaves new ones to the changes behind the position: their publishers may not have been visited.
      for (const row of rows.slice(page.length))
        if (row.createdAt <= position!) visitor.change(changeFrom(row))
    }
    return String(position)
  }

  /**
   * Oldest first, with the current state: applying entries twice or late is harmless. Publishers precede their listings.
   * @param limit of each kind, about
   * @returns `lost`: the changelog no longer reaches back that far; `load` again
   */
  changesAfter(
    position: ChangelogPosition,
    limit: number,
  ): Promise<{ changes: Change[]; position: ChangelogPosition; hasMore: boolean } | 'lost'> {
    return this.#call('read', async () => {
      if (!POSITION.test(position)) return 'lost'
      const from = Number(position)
      const read = await this.rows.after(FOLLOWED_SPACES, from, limit)
      const { hasMore } = read
      const isDropped = (row: Row) => row.space === 'removed' && row.key === DROPPED
      const about = hasMore
        ? (await this.rows.get([placeOf('removed', DROPPED)])).rows[0]
        : read.rows.find(isDropped)
      if (!read.isKnown || (from > 0 && from < Number(about?.value ?? 0))) return 'lost'
      const registry = hasMore
        ? await this.#registryAfter(from)
        : read.rows.filter(({ space }) => space === 'registry')
      registry.sort((one, other) => one.createdAt - other.createdAt)
      const listings = read.rows.filter((row) => row.space !== 'registry' && !isDropped(row))
      const end = hasMore ? read.rows.at(-1)!.at : Math.max(from, read.end)
      return { changes: [...registry, ...listings].map(changeFrom), position: String(end), hasMore }
    })
  }

  /** Of listings that were read before it the publishers are there. */
  async #registryAfter(from: Micros): Promise<Row[]> {
    const registry: Row[] = []
    for await (const { rows } of this.#pages('registry', from, false)) registry.push(...rows)
    return registry
  }

  /** Calls back soon after a change by any process. Returns how to stop. */
  onChange(notify: () => void): () => void {
    return this.rows.onChange((spaces) => {
      if (FOLLOWED_SPACES.some((space) => spaces.has(space))) notify()
    })
  }

  /** Rejects if the store cannot be read and written, or refuses every signature of now as one that may have been dropped. */
  ping(): Promise<void> {
    return this.#call('ping', async () => {
      await this.rows.ping()
      const [uses] = (await this.rows.get([placeOf('facts', guard.DROPPED_USES)])).rows
      guard.requireLaterUses(uses!)
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#writer.drained().then(() => this.rows.close())
    return this.#closing
  }

  async #call<T>(operation: StoreOperation, work: () => Promise<T>): Promise<T> {
    const started = performance.now()
    let failure: unknown = null
    try {
      if (this.#closing !== undefined) throw storeClosed()
      return await work()
    } catch (cause) {
      failure = cause
      throw cause
    } finally {
      this.#calls.emit({ operation, seconds: (performance.now() - started) / 1000, failure })
    }
  }

  #write<T>(operation: StoreOperation, rule: (draft: Draft) => T, places: readonly Place[] = []): Promise<T> {
    return this.#call(operation, () => this.#writer.run(rule, places))
  }

  async #mutate<Command extends RemoveCommand, Outcome>(
    operation: SignedOperation,
    command: Command,
    rule: (draft: Draft, command: Command) => Outcome,
  ): Promise<Outcome> {
    const key = identityKey(command.identity)
    const { outcome, publisher } = await this.#writer.run(
      (draft) => ({
        outcome: rule(draft, command),
        publisher: this.#hints.has(key) ? null : market.publisherOf(draft, command.identity),
      }),
      () => this.#placesOf(operation, command),
    )
    if (publisher !== null) {
      if (this.#hints.size >= MAX_HINTS) this.#hints.clear()
      this.#hints.set(key, publisher.publisherId)
    }
    await this.#trimUses(command.use.now)
    return outcome
  }

  #placesOf(
    operation: SignedOperation,
    { identity, listingId, use }: Pick<RemoveCommand, 'identity' | 'listingId'> & { use: guard.UseName },
  ): Place[] {
    const hint = this.#hints.get(identityKey(identity))
    const places = [
      ...guard.placesOf(operation, listingId, use),
      placeOf('listings', listingId),
      placeOf('facts', identityKey(identity)),
      placeOf('facts', guard.DROPPED_USES),
    ]
    return hint === undefined
      ? [...places, placeOf('facts', market.LAST_PUBLISHER)]
      : [...places, placeOf('registry', publisherKey(hint)), placeOf('facts', market.countOf(hint))]
  }

  async *#pages(space: Space, from = 0, isBulk = true): AsyncGenerator<RowsRead> {
    let next: Promise<RowsRead> | null = this.rows.after([space], from, LOAD_PAGE, isBulk)
    while (next !== null) {
      const page: RowsRead = await next
      next = page.hasMore ? this.rows.after([space], page.rows.at(-1)!.at, LOAD_PAGE, isBulk) : null
      next?.catch(() => {}) // prefetched: awaited in the next turn, unless the visit throws
      yield page
    }
  }

  /** Keeps uses that are not good by their own time, some at least: the clock may have been ahead. */
  #trimUses(now: Micros): Promise<void> | undefined {
    return this.#trim('guard', (row) => guard.expiryOf(row) <= now, guard.dropUses)
  }

  /** Mostly only counts. */
  #trim(
    space: 'guard' | 'removed',
    mayGo: (row: Row) => boolean,
    mark: (draft: Draft, going: readonly Row[]) => void,
  ): Promise<void> | undefined {
    const kept = this.#kept[space]
    if (++this.#untrimmed[space] < Math.min(TRIM_EVERY, kept)) return
    this.#untrimmed[space] = 0
    return trim(this.#parts, space, (row, { rows }) => rows > kept && mayGo(row), mark)
  }
}

const placesOfRotation = ({ publisherId, use }: RetireCommand | RotateCommand): Place[] => [
  placeOf('guard', use.requestKey),
  placeOf('registry', publisherKey(publisherId)),
]
