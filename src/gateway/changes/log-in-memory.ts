import { type FeedEntry, PROCESS_START } from '../../domain/feed-entry.ts'
import type { FeedRead } from '../../store/feed.ts'

/** Superseded entries that may stay in memory, besides as many as there are others. */
const SLACK = 1000

/** The log of the store as far as this process has read it: of each key of a source the latest entry. */
export class LogInMemory {
  incarnation = ''
  /** Position of the latest entry that was read. */
  end = 0
  /** Earlier positions are gone. */
  droppedTo = 0
  /** Entries that were read so far. */
  added = 0
  /** By position. Superseded entries stay until there are many of them. */
  #entries: FeedEntry[] = []
  readonly #latest = new Map<string, FeedEntry>()
  readonly #changedAt = new Map<string, number>()
  /** Starts of processes, oldest first; the latest that was dropped stays. */
  #starts: FeedEntry[] = []

  get size(): number {
    return this.#latest.size
  }

  /** Takes what follows the entries that were read, of the same log. */
  add({ entries, droppedTo }: Pick<FeedRead, 'entries' | 'droppedTo'>): void {
    for (const entry of entries) {
      if (entry.position <= this.end) continue
      this.#entries.push(entry)
      this.#latest.set(nameOf(entry), entry)
      if (entry.source === PROCESS_START) this.#starts.push(entry)
      this.#changedAt.set(entry.source, entry.at)
      this.end = entry.position
      this.added++
    }
    this.#dropTo(droppedTo)
    if (this.#entries.length > 2 * this.size + SLACK)
      this.#entries = this.#entries.filter((entry) => this.#isLatest(entry))
  }

  begin(incarnation: string): void {
    this.incarnation = incarnation
    this.end = 0
    this.droppedTo = 0
    this.#entries = []
    this.#starts = []
    this.#latest.clear()
    this.#changedAt.clear()
  }

  /** Whether everything after the position is known. */
  reachesBack(position: number): boolean {
    return position >= this.droppedTo && position <= this.end
  }

  /**
   * The latest start of a process up to that position: it differs between the log and a copy of it that was continued. Empty where it
   * is not known.
   */
  startBefore(position: number): string {
    return this.#starts.findLast((start) => start.position <= position)?.key ?? ''
  }

  /** When the newest entry of the source was appended, in ms since the Unix epoch, by the store's clock. */
  changedAt(source: string): number | undefined {
    return this.#changedAt.get(source)
  }

  latest(source: string, key: string): FeedEntry | undefined {
    return this.#latest.get(nameOf({ source, key }))
  }

  /** Entries behind the position, oldest first. */
  *after(position: number): Generator<FeedEntry> {
    const entries = this.#entries
    for (let n = this.#indexAfter(position); n < entries.length; n++) {
      const entry = entries[n]!
      if (this.#isLatest(entry)) yield entry
    }
  }

  /**
   * Those of the listings of which a reader may have read an entry while that source was away since the position: one behind it,
   * or one of another source before it, to which a reader comes later.
   */
  readWithout(source: string, since: number, listingIds: ReadonlySet<string>): Set<string> {
    const read = new Set<string>()
    for (const entry of this.#entries)
      if (listingIds.has(entry.listingId) && (entry.position > since || entry.source !== source))
        read.add(entry.listingId)
    return read
  }

  #isLatest(entry: FeedEntry): boolean {
    return this.#latest.get(nameOf(entry)) === entry
  }

  #dropTo(position: number): void {
    if (position <= this.droppedTo) return
    this.droppedTo = position
    const count = this.#indexAfter(position)
    const lastStart = this.#starts.findLastIndex((start) => start.position <= position)
    this.#starts.splice(0, lastStart)
    for (const entry of this.#entries.splice(0, count))
      if (this.#isLatest(entry)) this.#latest.delete(nameOf(entry))
  }

  #indexAfter(position: number): number {
    let [low, high] = [0, this.#entries.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#entries[middle]!.position <= position) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Names of sources have no line feeds. */
export function nameOf({ source, key }: Pick<FeedEntry, 'source' | 'key'>): string {
  return `${source}\n${key}`
}
