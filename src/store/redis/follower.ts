import { type Client, followerClient } from './connection.ts'

/** Of a blocking read, in ms. Below the socket timeout, so that a dead connection is noticed. */
const BLOCK_MS = 5000
const MAX_ENTRIES = 1000

export class ChangelogFollower {
  readonly #client: Client
  readonly #log: string
  readonly #notify: () => void
  /** Last entry seen; `null`: look up the end first, which can move back in a failover. */
  #position: string | null = null
  #stopped = false

  constructor(url: string, log: string, notify: () => void) {
    this.#client = followerClient(url)
    this.#log = log
    this.#notify = notify
    void this.#follow()
  }

  /** Follows from the changelog's end after reconnecting: the address may lead to another Redis. */
  reconnect(): void {
    this.#position = null
    if (this.#client.status === 'ready') this.#client.disconnect(true)
  }

  stop(): void {
    this.#stopped = true
    this.#client.disconnect()
  }

  async #follow(): Promise<void> {
    while (!this.#stopped) {
      try {
        const hasGrown = this.#position === null ? await this.#seekEnd() : await this.#read(this.#position)
        if (hasGrown && !this.#stopped) this.#notify()
      } catch {
        this.#position = null
        await new Promise((resolve) => setTimeout(resolve, BLOCK_MS / 10).unref())
      }
    }
  }

  /** `true`: earlier entries may not have been notified. */
  async #seekEnd(): Promise<true> {
    const [newest] = await this.#client.xrevrange(this.#log, '+', '-', 'COUNT', 1)
    this.#position = newest?.[0] ?? '0-0'
    return true
  }

  async #read(position: string): Promise<boolean> {
    const reply = await this.#client.xread(
      'COUNT',
      MAX_ENTRIES,
      'BLOCK',
      BLOCK_MS,
      'STREAMS',
      this.#log,
      position,
    )
    const newest = reply?.[0]?.[1].at(-1)
    if (newest === undefined) return false
    if (this.#position === position) this.#position = newest[0]
    return true
  }
}
