import { type Client, followerClient } from './connection.ts'

/** Of a blocking read, in ms. Below the socket timeout, so that a dead connection is noticed. */
const BLOCK_MS = 5000
const MAX_ENTRIES = 1000

/** Notifies of new entries in streams, by their keys. */
export class StreamFollower {
  readonly #client: Client
  readonly #streams: readonly string[]
  readonly #notify: (stream: string) => void
  /** Of each stream the last entry seen; `null`: look up the ends first, which can move back in a failover. */
  #positions: Map<string, string> | null = null
  #stopped = false

  constructor(url: string, streams: readonly string[], notify: (stream: string) => void) {
    this.#client = followerClient(url)
    this.#streams = streams
    this.#notify = notify
    void this.#follow()
  }

  /** Follows from the ends of the streams after reconnecting: the address may lead to another Redis. */
  reconnect(): void {
    this.#positions = null
    if (this.#client.status === 'ready') this.#client.disconnect(true)
  }

  stop(): void {
    this.#stopped = true
    this.#client.disconnect()
  }

  async #follow(): Promise<void> {
    while (!this.#stopped) {
      try {
        const grown = this.#positions === null ? await this.#seekEnds() : await this.#read(this.#positions)
        if (!this.#stopped) for (const stream of grown) this.#notify(stream)
      } catch {
        this.#positions = null
        await new Promise((resolve) => setTimeout(resolve, BLOCK_MS / 10).unref())
      }
    }
  }

  /** All of them: earlier entries may not have been notified. */
  async #seekEnds(): Promise<readonly string[]> {
    const positions = new Map<string, string>()
    for (const stream of this.#streams) {
      const [newest] = await this.#client.xrevrange(stream, '+', '-', 'COUNT', 1)
      positions.set(stream, newest?.[0] ?? '0-0')
    }
    this.#positions = positions
    return this.#streams
  }

  async #read(positions: Map<string, string>): Promise<readonly string[]> {
    const reply = await this.#client.xread(
      'COUNT',
      MAX_ENTRIES,
      'BLOCK',
      BLOCK_MS,
      'STREAMS',
      ...positions.keys(),
      ...positions.values(),
    )
    if (this.#positions !== positions) return []
    return (reply ?? []).map(([stream, entries]) => {
      const newest = entries.at(-1)
      if (newest !== undefined) positions.set(stream, newest[0])
      return stream
    })
  }
}
