import { setImmediate } from 'node:timers/promises'
import { SourceError } from './source/source-error.ts'

/** Milliseconds of one turn of the event loop. */
export const TURN_MS = 8

/** Divides long work, so that other requests are answered meanwhile. Rejects once the caller has left. */
export async function inTurns<T>(steps: Generator<unknown, T>, caller?: AbortSignal): Promise<T> {
  for (let started = performance.now(); ; ) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (performance.now() - started <= TURN_MS) continue
    await nextTurn(caller)
    started = performance.now()
  }
}

/** All at once: for work that is known to be short. */
export function inOneTurn<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Rejects once the caller has left. A time limit, which aborts with a `SourceError`, is that of the sources. */
export async function nextTurn(caller?: AbortSignal): Promise<void> {
  await setImmediate()
  if (!(caller?.reason instanceof SourceError)) caller?.throwIfAborted()
}
