import { type Client, followerClient } from './redis-connection.ts'

/** How long one blocking read waits, in ms. Well under the socket's timeout, so that a dead connection is noticed. */
const BLOCK = 5000
const MAX_ENTRIES = 1000

/** Waits on the changelog over a connection of its own, and tells when it has grown. */
export class RedisFollower {
  readonly #client: Client
  readonly #log: string
  readonly #notify: () => void
  #position: string
  #stopped = false

  /** @param position the entry from which on growth is told */
  constructor(url: string, log: string, position: string, notify: () => void) {
    this.#client = followerClient(url)
    this.#log = log
    this.#position = position
    this.#notify = notify
    void this.#follow()
  }

  stop(): void {
    this.#stopped = true
    this.#client.disconnect()
  }

  async #follow(): Promise<void> {
    while (!this.#stopped) {
      try {
        const grown = await this.#read()
        if (grown && !this.#stopped) this.#notify()
      } catch {
        // The client comes back by itself and its commands wait for that; what it cannot do yet, it tries again.
        await new Promise((resolve) => setTimeout(resolve, BLOCK / 10).unref())
      }
    }
  }

  async #read(): Promise<boolean> {
    const reply = await this.#client.xread(
      'COUNT',
      MAX_ENTRIES,
      'BLOCK',
      BLOCK,
      'STREAMS',
      this.#log,
      this.#position,
    )
    const newest = reply?.[0]?.[1].at(-1)
    if (newest === undefined) return false
    this.#position = newest[0]
    return true
  }
}
