import type { Clock } from '../../domain/clock.ts'
import { EntrepotError } from '../../errors.ts'
import type { Change } from '../../gateway/changes/change-of.ts'
import type { Changes, Following } from '../../gateway/changes/market-changes.ts'
import { newStates } from '../../wire/new-states.ts'
import type { Watcher } from '../watchers.ts'

/** A silent stream sends a comment after so long: proxies close silent connections. */
const HEARTBEAT_MS = 15_000
/** How often the credential of a reader and the state of the sources are looked at, in ms. */
const CHECK_MS = 1000
/** Changes that are read at once. */
const MAX_BATCH = 20
/** Of events that are sent together. */
const PART_BYTES = 64 * 1024
/** Clients reconnect after so long, and up to twice as long, so that they do not come at once. */
const RETRY_MS = 1000

export type WatchOptions = {
  following: Following
  watcher: Watcher
  /** Aborts when the connection closes. */
  signal: AbortSignal
  /** Whether the credential still opens what the reader sees. */
  maySee: () => boolean
  clock: Clock
}

/** Reads changes; without any it waits for them until the time is up, the reader has left or may not see them any more. */
export async function waitForChanges(options: WatchOptions, limit: number, waitMs: number): Promise<Changes> {
  const { following, watcher, signal, maySee, clock } = options
  const waker = new Waker(options)
  const end = clock.monotonic() + waitMs
  try {
    for (let since = following.position; ; ) {
      const read = await following.read(since, limit)
      signal.throwIfAborted()
      const leftMs = end - clock.monotonic()
      if (read.changes.length > 0 || leftMs <= 0 || watcher.stopped.aborted) return read
      since = read.position
      if (!read.hasMore) await waker.next(Math.min(leftMs, CHECK_MS))
      signal.throwIfAborted()
      if (!maySee()) throw new EntrepotError('unauthorized', 'The API key is no longer valid here')
    }
  } finally {
    waker.close()
    watcher.close()
  }
}

/** The events of a stream: https://html.spec.whatwg.org/multipage/server-sent-events.html. It ends, and never fails. */
export async function* streamChanges(
  options: WatchOptions,
  render: (change: Change) => Buffer,
  random: () => number,
): AsyncGenerator<Buffer> {
  const { following, watcher, signal, maySee, clock } = options
  const waker = new Waker(options)
  const states = new Map<string, string>()
  let position = following.position
  try {
    // With a position from the first block on, a reader that is cut off before its first event continues as well.
    yield block(`retry: ${Math.round(RETRY_MS * (1 + random()))}`, position)
    for (let sentAt = clock.monotonic(); !watcher.stopped.aborted && !signal.aborted && maySee(); ) {
      const read = await following.read(position, MAX_BATCH)
      for (const part of joined(eventsOf(following, states, { read, position }, render))) {
        yield part
        sentAt = clock.monotonic()
      }
      position = read.position
      if (clock.monotonic() - sentAt >= HEARTBEAT_MS) {
        yield block(':', position)
        sentAt = clock.monotonic()
      }
      if (!read.hasMore) await waker.next(CHECK_MS)
    }
    yield block(END, position)
  } catch (cause) {
    if (signal.aborted) return
    // The reader connects again with its position, and gets the reason.
    if (!(cause instanceof EntrepotError)) throw cause
    yield block(END, position)
  } finally {
    waker.close()
    watcher.close()
  }
}

type Batch = { read: Changes; position: string }

function* eventsOf(
  following: Following,
  states: Map<string, string>,
  { read, position }: Batch,
  render: (change: Change) => Buffer,
): Generator<Buffer> {
  for (const source of newStates(following.sources().sources, states))
    yield event(Buffer.from(JSON.stringify({ type: 'source', source })), position)
  const last = read.changes.at(-1)
  for (const change of read.changes) {
    const known = eventOf.get(change)
    const made = known ?? event(render(change), change === last ? read.position : null)
    if (known === undefined) eventOf.set(change, made)
    yield made
  }
}

/** Readers of one query share what was read for all of them. */
const eventOf = new WeakMap<Change, Buffer>()

/** Joined up to `PART_BYTES`, which is what waits in memory for a reader that takes nothing. */
function* joined(events: Iterable<Buffer>): Generator<Buffer> {
  let parts: Buffer[] = []
  let bytes = 0
  for (const one of events) {
    bytes = parts.push(one) === 1 ? one.length : bytes + one.length
    if (bytes < PART_BYTES) continue
    yield Buffer.concat(parts)
    parts = []
  }
  if (parts.length > 0) yield Buffer.concat(parts)
}

const END = ': the stream ends, continue from the last id'
const LINE_BREAKS = /\r\n|\r|\n/g

/** Of a line that is no event, with the position of now: so that of a quiet stream does not become too old. */
const block = (line: string, position: string): Buffer => Buffer.from(`${line}\nid: ${position}\n\n`)

/** JSON has line breaks between its members only, where a space does as well. */
function event(data: Buffer, position: string | null): Buffer {
  const text = data.toString('utf8').replaceAll(LINE_BREAKS, ' ')
  return Buffer.from(`${position === null ? '' : `id: ${position}\n`}data: ${text}\n\n`)
}

/** Wakes one watcher. What happens while it is awake wakes it at once. */
class Waker {
  readonly #clock: Clock
  readonly #ends: (() => void)[] = []
  #isAwake = true
  #wake: () => void = () => {}

  constructor({ following, watcher, signal, clock }: WatchOptions) {
    this.#clock = clock
    const wake = (): void => {
      this.#isAwake = true
      this.#wake()
    }
    this.#ends.push(following.onAdvance(wake))
    for (const one of [watcher.stopped, signal]) {
      one.addEventListener('abort', wake)
      this.#ends.push(() => one.removeEventListener('abort', wake))
    }
  }

  /** Resolves after a change, the end, or that time. */
  async next(ms: number): Promise<void> {
    if (!this.#isAwake) {
      let cancel = (): void => {}
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        cancel = this.#clock.after(ms, resolve)
      })
      cancel()
    }
    this.#isAwake = false
  }

  close(): void {
    for (const end of this.#ends) end()
  }
}
