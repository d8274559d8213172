import { type FeedEntry, GONE, PROCESS_START, PUSHED_OUT, WHOLE_SOURCE } from '../../domain/feed-entry.ts'
import { randomId } from '../../domain/random-id.ts'
import type { Holding, HoldingChange } from '../../domain/source/holding.ts'
import type { Copy } from '../../listing-index/copy.ts'
import type { CopyIndex } from '../../listing-index/copy-index.ts'
import { type SourceChange, type States, statesOf } from './copy-state.ts'
import type { LogInMemory } from './log-in-memory.ts'
import { type FollowedRegistry, StoredLog, type StoredLogOptions } from './stored-log.ts'

type Attached = {
  sources: readonly Holding[]
  registry: FollowedRegistry | null
  /** Whether the operator leaves out a copy of that source now. */
  isDenied: (copy: Copy, source: string) => boolean
}

type ChangeFeedOptions = StoredLogOptions & { index: CopyIndex }

/**
 * Appends what changes in the sources to the log of the store, and follows that log. An entry is readable here
 * only when this process has its change, or will append its own: docs/decisions/0030-a-log-of-changes.md.
 */
export class ChangeFeed {
  /** What readers are given. */
  readonly stored: StoredLog
  readonly #options: ChangeFeedOptions
  readonly #attached = new Set<Attached & { byName: ReadonlyMap<string, Holding> }>()
  /** By the `follow` of each source: a reload opens the same sources again. */
  readonly #followed = new WeakSet<Holding['follow']>()
  /** Copies before the change that is made. */
  readonly #changing = new Map<string, readonly Copy[]>()
  /** Sources that did not answer from memory since that position. */
  readonly #away = new Map<string, number>()
  readonly #ends: readonly (() => void)[]
  #isRecovered = false

  /** Reads the whole log, and begins its own part of it. */
  static async open(options: ChangeFeedOptions): Promise<ChangeFeed> {
    const feed = new ChangeFeed(options)
    const { stored } = feed
    await stored.read()
    stored.put({ source: PROCESS_START, key: randomId(), listingId: '', publisher: null, state: '' })
    await stored.append()
    return feed
  }

  private constructor(options: ChangeFeedOptions) {
    this.#options = options
    const { index } = options
    this.stored = new StoredLog(options, { registry: () => this.#registry(), isAhead: this.#isAhead })
    this.#ends = [
      index.onChanging((ids) => {
        if (this.#attached.size > 0) for (const id of ids) this.#changing.set(id, index.copiesOf(id))
      }),
      index.onTouched((ids) => this.#takeAll(ids)),
    ]
  }

  /** Follows these sources as well, until the returned function is called. */
  attach(attached: Attached): () => void {
    const { sources, registry } = attached
    const known = { ...attached, byName: new Map(sources.map((source) => [source.name, source])) }
    this.#attached.add(known)
    const ends = sources.map((source) => source.follow((change) => this.#take(source, change)))
    for (const source of sources) this.#begin(source)
    if (registry !== null && !this.#isRecovered) {
      this.#isRecovered = true
      this.#recover(registry).catch((cause: unknown) => {
        this.#isRecovered = false
        this.stored.fail(cause)
      })
    }
    return () => {
      for (const end of ends) end()
      this.#attached.delete(known)
    }
  }

  /** Lets readers look again at listings that other rules of the operator hide or show now. */
  lookAgain(name: string, listingIds: Iterable<string>): void {
    const [source] = this.#named(name)
    if (source === undefined) return
    for (const listingId of listingIds) this.#enqueueAgain(name, source, listingId)
    void this.stored.append()
  }

  /** Resolves when all changes so far are appended. */
  close(): Promise<void> {
    for (const end of this.#ends) end()
    return this.stored.close()
  }

  /** A source that may have been held before. */
  #begin(source: Holding): void {
    const { follow, coverage } = source
    if (this.#followed.has(follow)) return
    this.#followed.add(follow)
    if (source.isOwn) return
    if (this.#away.get(source.name) === undefined) this.#away.set(source.name, this.stored.log.end)
    if (coverage() === 'whole' || coverage() === 'partial')
      this.#take(source, { kind: 'held', isContinued: true })
  }

  #take(source: Holding, change: HoldingChange): void {
    const { index } = this.#options
    switch (change.kind) {
      case 'replaced': {
        const { from, to } = change
        if (from === null) break
        for (const listingId of new Set(index.differences(from, to))) {
          const copies = index.copiesOf(listingId)
          this.#enqueueChanges(source, listingId, rowsOf(copies, from), rowsOf(copies, to))
        }
        break
      }
      case 'hidden':
        this.#leave(source)
        break
      case 'shown':
        if (this.#options.isShared) this.#continue(source, (before, now) => now !== before)
        this.#return(source)
        break
      case 'whole':
        // What newer listings had pushed out of it, and it does not have, is gone.
        void this.stored.append().then(() => {
          this.#continue(source, (before, now) => before === PUSHED_OUT && now === GONE)
          return this.stored.append()
        })
        break
      case 'held':
        // Where it is not continued, its readers read all of it again.
        if (change.isContinued && this.#options.isShared) {
          // While the source refuses our key nothing of it is found, and nothing is gone.
          if (source.coverage() !== 'none') this.#continue(source, () => true)
          this.#return(source)
        } else this.stored.put({ ...WHOLE, source: source.name, state: randomId() })
    }
    void this.stored.append()
  }

  /** Changes of rows that are read now. */
  #takeAll(listingIds: readonly string[]): void {
    if (this.#attached.size === 0) return
    for (const listingId of listingIds) {
      const before = this.#changing.get(listingId) ?? []
      this.#changing.delete(listingId)
      const after = this.#options.index.copiesOf(listingId)
      for (const number of new Set([...before, ...after].map((copy) => copy.source))) {
        const source = this.#sourceOf(number)
        if (source === undefined || source.coverage() === 'loading') continue
        this.#enqueueChanges(source, listingId, rowsOf(before, number), rowsOf(after, number))
      }
    }
    void this.stored.append()
  }

  /** With the copy that was shown before: none where there was none, or the operator left it out. */
  #enqueueChanges(source: Holding, listingId: string, before: readonly Copy[], after: readonly Copy[]): void {
    const { name } = source
    const [earlier, later] = [statesOf(before, name), statesOf(after, name)]
    const isDenied = (copy: Copy): boolean => [...this.#attached].some((one) => one.isDenied(copy, name))
    const shown = (copy: Copy | undefined) => (copy === undefined || isDenied(copy) ? null : copy)
    // A Registry has one listing of an id: where another publisher has it now, the earlier one is gone.
    const isReplaced = !source.isGateway && after.length > 0
    for (const [key, { publisher, copy }] of earlier) {
      if (later.has(key)) continue
      const state = !isReplaced && this.#isPushedOut(source, copy) ? PUSHED_OUT : GONE
      this.stored.put({ source: name, key, listingId, publisher, state }, shown(copy))
    }
    for (const [key, { state, publisher }] of later) {
      const known = earlier.get(key)
      if (known?.state !== state)
        this.stored.put({ source: name, key, listingId, publisher, state }, shown(known?.copy))
    }
  }

  /** Whether the source may still have a copy that is gone here. */
  #isPushedOut(source: Holding, { position }: Copy): boolean {
    const number = source.coverage() === 'partial' ? source.rows() : null
    const [oldest] = number === null ? [] : this.#options.index.walk(number, 'oldest').take(1)
    return oldest !== undefined && position <= oldest.position
  }

  /** Whose rows of that number are read. */
  #sourceOf(number: number): Holding | undefined {
    return this.#named(this.#options.index.about(number).name).find((source) => source.rows() === number)
  }

  /** A reload has two of one name for a moment. */
  #named(name: string): Holding[] {
    return [...this.#attached].flatMap(({ byName }) => byName.get(name) ?? [])
  }

  /** What the source has of one id. */
  #statesOf(source: Holding, listingId: string): States {
    return statesOf(rowsOf(this.#options.index.copiesOf(listingId), source.rows()), source.name)
  }

  /** As changes of the source of that name: readers look again at the listings that the other one has under this id. */
  #enqueueAgain(name: string, other: Holding, listingId: string): void {
    for (const [key, { publisher }] of this.#statesOf(other, listingId))
      this.stored.put({ source: name, key, listingId, publisher, state: randomId() })
  }

  /** Copies of worse sources are shown from now on. */
  #leave(source: Holding): void {
    const { name } = source
    this.#away.set(name, this.stored.log.end)
    for (const listingId of this.#idsOf(source))
      for (const other of this.#othersWith(listingId, name)) this.#enqueueAgain(name, other, listingId)
  }

  #idsOf(source: Holding): ReadonlySet<string> {
    const number = source.rows()
    if (number === null) return new Set()
    return new Set(this.#options.index.walk(number, 'oldest').map(({ listingId }) => listingId))
  }

  /** Its copies count again: of what others have as well, and of what readers may have come to meanwhile. */
  #return(source: Holding): void {
    const { name } = source
    const since = this.#away.get(name) ?? this.stored.log.end
    this.#away.delete(name)
    const listingIds = this.#idsOf(source)
    const read = this.stored.log.readWithout(name, since, listingIds)
    for (const listingId of listingIds)
      if (read.has(listingId) || this.#othersWith(listingId, name).length > 0)
        for (const [key, { publisher, state }] of this.#statesOf(source, listingId))
          this.stored.put({ source: name, key, listingId, publisher, state })
  }

  /**
   * What the source has now of the keys in the log, where `isDue`. After a restart that is all of them: the process before this one may
   * have handed out entries of other replicas whose changes it did not have yet.
   */
  #continue(holding: Holding, isDue: (before: string, now: string) => boolean): void {
    const { name: source } = holding
    for (const { source: of, key, listingId, publisher, state } of this.stored.log.after(0)) {
      if (of !== source || key === WHOLE_SOURCE) continue
      const absent = state === PUSHED_OUT && holding.coverage() !== 'whole' ? PUSHED_OUT : GONE
      const now = this.#statesOf(holding, listingId).get(key)?.state ?? absent
      if (isDue(state, now)) this.stored.put({ source, key, listingId, publisher, state: now })
    }
  }

  /** Changes of the store that a process did not append before it ended. */
  async #recover(registry: FollowedRegistry): Promise<void> {
    const { feed } = this.#options
    const { followed } = await feed.read(this.stored.log.end, 1)
    if (followed === null) return this.stored.begin(registry)
    const listingIds = await registry.changedSince(followed)
    const { name } = registry
    const [own] = this.#named(name)
    const statesOf = (id: string): States => (own === undefined ? new Map() : this.#statesOf(own, id))
    const changes =
      listingIds === 'lost' ? null : unloggedChanges(this.stored.log, { name, statesOf }, listingIds)
    for (const change of changes ?? []) this.stored.put(change)
    if (changes === null) {
      await feed.renew(registry.position())
      await this.stored.read()
    }
    void this.stored.append()
  }

  #othersWith(listingId: string, source: string): Holding[] {
    const numbers = new Set(this.#options.index.copiesOf(listingId).map((copy) => copy.source))
    return [...numbers].flatMap((n) => this.#sourceOf(n) ?? []).filter(({ name }) => name !== source)
  }

  /** Whether the change of an entry of the own Registry is not in memory yet. */
  readonly #isAhead = ({ source, key, listingId, state }: FeedEntry): boolean => {
    if (this.#registry()?.name !== source) return false
    return this.#named(source).some(
      (one) => (this.#statesOf(one, listingId).get(key)?.state ?? GONE) !== state,
    )
  }

  /** The one that was attached first: the others have what it has. */
  #registry(): FollowedRegistry | null {
    return [...this.#attached].find(({ registry }) => registry !== null)?.registry ?? null
  }
}

const WHOLE = { key: WHOLE_SOURCE, listingId: '', publisher: null }

function rowsOf(copies: readonly Copy[], number: number | null): Copy[] {
  return copies.filter(({ source }) => source === number)
}

/** What the log lacks of listings that have changed; `null` where the publisher of a removed one is not known. */
function unloggedChanges(
  log: LogInMemory,
  { name, statesOf }: { name: string; statesOf: (listingId: string) => States },
  listingIds: readonly string[],
): SourceChange[] | null {
  const changed = new Set(listingIds)
  const logged = new Map<string, FeedEntry[]>()
  for (const entry of log.after(0))
    if (entry.source === name && changed.has(entry.listingId))
      logged.set(entry.listingId, [...(logged.get(entry.listingId) ?? []), entry])
  const changes: SourceChange[] = []
  for (const listingId of changed) {
    const copies = statesOf(listingId)
    const entries = logged.get(listingId) ?? []
    if (copies.size === 0 && entries.length === 0) return null
    for (const { key, publisher, state } of entries)
      if (state !== GONE && !copies.has(key))
        changes.push({ source: name, key, listingId, publisher, state: GONE })
    for (const [key, { publisher, state }] of copies)
      if (log.latest(name, key)?.state !== state)
        changes.push({ source: name, key, listingId, publisher, state })
  }
  return changes
}
