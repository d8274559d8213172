import { type Clock, raceAbort } from '../../domain/clock.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { Item, Range, Reading, Source } from '../../domain/source/reading.ts'
import { isRefusal } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { parseObject } from '../../json/value.ts'

/** A listing in memory is the answer where its upstream takes longer. */
const ASK_MS = 1000
/** Single listings that one upstream is asked for at once. */
const MAX_SINGLE = 64

/** Beyond `MAX_SINGLE` requests for single listings, one fails as `budget_spent`. */
export function limitSingle(name: string, read: Source): Source {
  let inFlight = 0
  return async (query, range, signal) => {
    if (query.listingId === undefined) return read(query, range, signal)
    if (inFlight >= MAX_SINGLE)
      throw new SourceError('budget_spent', `${name}: ${MAX_SINGLE} listings are requested`)
    inFlight++
    try {
      return await read(query, range, signal)
    } finally {
      inFlight--
    }
  }
}

type Question = { query: ListingQuery; range: Range; signal: AbortSignal }

/** `null` where the upstream cannot be asked. @throws SourceError where it refuses our key */
export async function askForOne(
  read: Source,
  { query, range, signal }: Question,
  clock: Clock,
): Promise<Reading | null> {
  const late = Promise.withResolvers<null>()
  const cancel = clock.after(ASK_MS, () => late.resolve(null))
  try {
    return await raceAbort(Promise.race([read(query, range, signal), late.promise]), signal)
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
