import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** Opened at once: the server has a queue of connections. */
const OPENED_AT_ONCE = 50
const DATA = Buffer.from('data: ')

/** Streams of `GET /changes`, each a connection of its own. Counts what they are sent. */
export class Watchers {
  readonly #requests: ClientRequest[] = []
  /** Of each stream. */
  readonly events: number[] = []
  bytes = 0
  /** Streams that have ended. */
  ended = 0

  async open(url: string, count: number): Promise<void> {
    while (this.#requests.length < count) {
      const missing = count - this.#requests.length
      await Promise.all(Array.from({ length: Math.min(missing, OPENED_AT_ONCE) }, () => this.#openOne(url)))
    }
  }

  /** Resolves when each stream had that many events. */
  async received(count: number): Promise<void> {
    while (this.events.some((events) => events < count)) await delay(1)
  }

  close(): void {
    for (const one of this.#requests) one.destroy()
  }

  async #openOne(url: string): Promise<void> {
    const sent = request(`${url}/changes`, { agent: false, headers: { accept: 'text/event-stream' } }).end()
    this.#requests.push(sent)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    if (response.statusCode !== 200) throw new Error(`a stream is answered ${response.statusCode}`)
    const n = this.events.push(0) - 1
    let tail = Buffer.alloc(0)
    response.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length
      const read = Buffer.concat([tail, chunk])
      let at = 0
      for (let found = read.indexOf(DATA); found !== -1; found = read.indexOf(DATA, at)) {
        this.events[n]!++
        at = found + DATA.length
      }
      tail = Buffer.from(read.subarray(Math.max(at, read.length - DATA.length + 1)))
    })
    response.once('error', () => {}).once('close', () => this.ended++)
    // The stream begins with what its reader is to do when it ends.
    await once(response, 'data')
  }
}
