import { MAX_OPEN_MS, type Notice } from '../domain/breaker.ts'
import type { Clock } from '../domain/clock.ts'

/** How often other replicas are heard, at most. */
export const LISTEN_MS = 1000
/** After the open time a probe is under way for so long at most, and the others wait for what it finds. */
export const PROBE_MS = 3000

/** The other replicas, as far as one upstream is concerned. Nobody waits for them. */
export class Neighbours {
  readonly #notice: Notice | null
  readonly #clock: Clock
  #toldUntil = 0
  #listenedAt = 0

  /** @param notice `null` where there are none */
  constructor(notice: Notice | null, clock: Clock) {
    this.#notice = notice
    this.#clock = clock
  }

  /** Until when one of them leaves the upstream alone; `null` where none does. */
  get leaveAloneUntil(): number | null {
    return this.#toldUntil > this.#clock.now() ? this.#toldUntil : null
  }

  listen(): void {
    const now = this.#clock.now()
    if (this.#notice === null || now < this.#listenedAt + LISTEN_MS) return
    this.#listenedAt = now
    this.#notice.read().then((until) => {
      this.#toldUntil = Math.min(until ?? 0, this.#clock.now() + 2 * MAX_OPEN_MS)
    }, ignore)
  }

  /** That it is open until then, and then to be probed. */
  tellOpen(retryAt: number): void {
    this.#notice?.write(retryAt + PROBE_MS).catch(ignore)
  }

  tellClosed(): void {
    this.#toldUntil = 0
    this.#notice?.write(null).catch(ignore)
  }
}

/** Who does not hear of it finds out by himself. */
const ignore = (): void => {}
