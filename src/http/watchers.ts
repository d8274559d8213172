import { EntrepotError } from '../errors.ts'

type Limits = { maxWatchers: number; maxWatchersPerReader: number }

export type Watcher = {
  /** Aborts when the process drains, or another configuration takes over. */
  stopped: AbortSignal
  close: () => void
}

/** Of all: addresses cost nothing, so that the rest stays for readers with keys. */
const ANONYMOUS_SHARE = 0.9
const RETRY_SECONDS = '30'

/** Requests that wait for changes, streams included: of all readers, and of each. */
export class Watchers {
  readonly #limits: Limits
  readonly #byReader = new Map<string, number>()
  readonly #stopping = new AbortController()
  #count = 0
  #anonymous = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  get count(): number {
    return this.#count
  }

  /** @throws EntrepotError `rate_limited` */
  open(reader: string, mostOfReader: number | null, { isAnonymous }: { isAnonymous: boolean }): Watcher {
    const { maxWatchers, maxWatchersPerReader } = this.#limits
    const ofReader = this.#byReader.get(reader) ?? 0
    const most = mostOfReader ?? maxWatchersPerReader
    if (ofReader >= most) throw tooMany(`${most} requests of yours wait for changes already: close one`)
    if (this.#count >= maxWatchers)
      throw tooMany(`${maxWatchers} requests wait for changes already: read without waiting`)
    const mostAnonymous = Math.ceil(maxWatchers * ANONYMOUS_SHARE)
    if (isAnonymous && this.#anonymous >= mostAnonymous)
      throw tooMany(`${mostAnonymous} requests without a key wait for changes already: read without waiting`)
    this.#add(reader, 1)
    if (isAnonymous) this.#anonymous++
    let isOpen = true
    return {
      stopped: this.#stopping.signal,
      close: () => {
        if (!isOpen) return
        isOpen = false
        this.#add(reader, -1)
        if (isAnonymous) this.#anonymous--
      },
    }
  }

  /** Ends all waits and streams; later ones end at once. */
  stop(): void {
    this.#stopping.abort(new Error('stopped'))
  }

  #add(reader: string, change: 1 | -1): void {
    this.#count += change
    const count = (this.#byReader.get(reader) ?? 0) + change
    if (count === 0) this.#byReader.delete(reader)
    else this.#byReader.set(reader, count)
  }
}

function tooMany(detail: string): EntrepotError {
  return new EntrepotError('rate_limited', detail, {
    limit: 'watchers',
    headers: { 'Retry-After': RETRY_SECONDS },
  })
}
