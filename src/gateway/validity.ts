import type { Holding } from '../domain/source/holding.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { MANY_SOURCES } from '../wire/source.ts'
import { versionOf } from './asked.ts'
import type { PriceBounds } from './by-price/price-bounds.ts'
import { CURSOR_SECONDS } from './cursor.ts'
import type { Answered, Asked, MarketSettings } from './sources.ts'

/** Whether an answer may be given again; `undefined`: never. */
export type Validity = (() => boolean) | undefined

type Made = {
  /** Default: what is held. */
  results?: readonly { source: Holding; result: Omit<Answered, 'matched'> | SourceError }[]
  nextCursor?: string | undefined
  bounds?: PriceBounds
}

/**
 * While no row of its sources, no rule and no mark has changed, every source says the same, no age is a second older, and a
 * cursor has half its life left. Of many sources one is always about to be a second older: then the answer is good for a second.
 */
export function validityOf(
  settings: MarketSettings,
  { answers, scope: { sources }, version }: Asked,
  { results = answers.map(({ source, answer }) => ({ source, result: answer })), nextCursor, bounds }: Made,
): Validity {
  const { clock } = settings
  const now = clock.monotonic()
  const checks: ((now: number) => boolean)[] = bounds === undefined ? [] : [bounds.isCurrent]
  let until = nextCursor === undefined ? Number.POSITIVE_INFINITY : now + (CURSOR_SECONDS / 2) * 1000
  for (const { source, result } of results) {
    if (result instanceof SourceError || result.stale || result.isCurrent === undefined) return undefined
    checks.push(result.isCurrent)
    if (!source.isOwn && results.length < MANY_SOURCES)
      until = Math.min(until, result.asOf + Math.floor((now - result.asOf) / 1000 + 1) * 1000)
  }
  if (results.length >= MANY_SOURCES) until = Math.min(until, now + 1000)
  return () => {
    const now = clock.monotonic()
    return now < until && versionOf(settings, sources) === version && checks.every((check) => check(now))
  }
}

/** `other` absent: the first alone. */
export function bothHold(one: Validity, other: Validity): Validity {
  if (one === undefined || other === undefined) return one
  return () => one() && other()
}
