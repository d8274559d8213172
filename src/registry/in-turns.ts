/** About a millisecond of work on listings. */
export const PER_TURN = 64

/** Yields to the event loop after every `PER_TURN` values. */
export async function* inTurns<T>(values: Iterable<T>): AsyncGenerator<T> {
  let count = 0
  for (const value of values) {
    if (++count % PER_TURN === 0) await new Promise(setImmediate)
    yield value
  }
}
