/** Values between two turns of the event loop: about a millisecond of work on listings. */
export const PER_TURN = 64

/** The same values, with a turn of the event loop after every `PER_TURN` of them. */
export async function* inTurns<T>(values: Iterable<T>): AsyncGenerator<T> {
  let count = 0
  for (const value of values) {
    if (++count % PER_TURN === 0) await new Promise(setImmediate)
    yield value
  }
}
