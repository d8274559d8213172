import { oncePerObject } from '../domain/remembered.ts'
import type { AnswerFacts } from '../domain/source/holding.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { MANY_SOURCES } from '../wire/source.ts'
import { versionOf } from './ask.ts'
import type { Asked, SourceAnswer } from './asking.ts'
import type { MarketSettings } from './market-settings.ts'
import { CURSOR_SECONDS } from './pages/cursor.ts'
import type { PriceBounds } from './pages/price-bounds.ts'

/** Whether an answer may be given again; `undefined`: never. */
export type Validity = (() => boolean) | undefined

type Made = {
  /** Default: what is held. */
  from?: readonly SourceAnswer<AnswerFacts>[]
  nextCursor?: string | undefined
  bounds: PriceBounds
}

/**
 * While no row of its sources, no rule and no mark has changed, every source says the same, no age is a second older, and a
 * cursor has half its life left. Of many sources one is always about to be a second older: then the answer is good for a second.
 */
export function validityOf(
  settings: MarketSettings,
  { answers, scope: { sources }, version }: Asked,
  { from = answers, nextCursor, bounds }: Made,
): Validity {
  const { clock } = settings
  const now = clock.monotonic()
  const lasting = lastingOf(from)
  if (lasting === undefined) return undefined
  const { checks, readAt } = lasting
  let until = nextCursor === undefined ? Number.POSITIVE_INFINITY : now + (CURSOR_SECONDS / 2) * 1000
  if (checks.length >= MANY_SOURCES) until = Math.min(until, now + 1000)
  else for (const at of readAt) until = Math.min(until, at + Math.floor((now - at) / 1000 + 1) * 1000)
  return () => {
    const now = clock.monotonic()
    return (
      now < until &&
      versionOf(settings, sources) === version &&
      bounds.isCurrent() &&
      checks.every((check) => check(now))
    )
  }
}

/** `readAt`: of the sources with an age, as `asOf`. */
type Lasting = { checks: readonly ((now: number) => boolean)[]; readAt: readonly number[] }

/** `undefined` where it may not be reported again. Many questions have the same answers of their sources. */
const lastingOf = oncePerObject((answers: NonNullable<Made['from']>): Lasting | undefined => {
  const checks: ((now: number) => boolean)[] = []
  const readAt: number[] = []
  for (const { source, answer } of answers) {
    if (answer instanceof SourceError || answer.stale || answer.isCurrent === undefined) return undefined
    checks.push(answer.isCurrent)
    if (!source.isOwn) readAt.push(answer.asOf)
  }
  return { checks, readAt }
})

/** `other` absent: the first alone. */
export function bothHold(one: Validity, other: Validity): Validity {
  if (one === undefined || other === undefined) return one
  return () => one() && other()
}
