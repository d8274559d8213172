import { type Clock, raceAbort } from '../../domain/clock.ts'
import type { FoundCopies } from '../../domain/source/holding.ts'
import type { Item } from '../../domain/source/item.ts'
import { isRefusal } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { parseObject } from '../../json/value.ts'

/** A listing in memory is the answer where its upstream takes longer. */
const ASK_MS = 1000

/** `null` where the upstream cannot be asked. @throws SourceError where it refuses our key */
export async function askForOne(
  ask: (signal: AbortSignal) => Promise<FoundCopies>,
  signal: AbortSignal,
  clock: Clock,
): Promise<FoundCopies | null> {
  const late = Promise.withResolvers<null>()
  const cancel = clock.after(ASK_MS, () => late.resolve(null))
  try {
    return await raceAbort(Promise.race([ask(signal), late.promise]), signal)
  } catch (error) {
    const isRefused = !(error instanceof SourceError) || isRefusal(error.reason)
    if (signal.aborted || !isRefused) return null
    throw error
  } finally {
    cancel()
  }
}

/** Of an unreadable listing it is not known. */
export function isOpen(item: Item): boolean {
  try {
    return parseObject(Buffer.from(item.bytes).toString()).status === 'open'
  } catch {
    return true
  }
}
