import { Emitter } from '../emitter.ts'
import type { HeldChange } from './held.ts'

/** What has changed of a source in memory, as `Held.onChange` and `Held.follow` describe. */
export class HeldChanges {
  readonly #ids = new Emitter<Iterable<string>>()
  readonly #changes = new Emitter<HeldChange>()

  readonly listen = this.#ids.listen
  readonly follow = this.#changes.listen

  /** @param listingIds called only where there is a listener: all ids of a source are many */
  emit(listingIds: () => Iterable<string>): void {
    if (!this.#ids.isHeard) return
    const ids = [...listingIds()]
    if (ids.length > 0) this.#ids.emit(ids)
  }

  emitChange(change: HeldChange): void {
    this.#changes.emit(change)
  }
}
