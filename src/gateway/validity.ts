import type { Clock } from '../domain/clock.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { CurrentSpec } from './current-spec.ts'
import { CURSOR_SECONDS } from './cursor.ts'
import type { Outcome } from './sources.ts'

type Checked = {
  outcomes: readonly Outcome[]
  nextCursor?: string | undefined
  /** Whether outliers are marked by the bounds of now. */
  areBoundsCurrent: () => boolean
}

export type Validity = (() => boolean) | undefined

/**
 * Whether an answer may be served again: every Reading and the filters are current, no age is a second older, and a cursor
 * has half its life left. `undefined`: never.
 * @param spec `null` for an answer without filters
 */
export function validityOf(
  { outcomes, nextCursor, areBoundsCurrent }: Checked,
  spec: CurrentSpec | null,
  clock: Clock,
): Validity {
  const checks: ((now: number) => boolean)[] = spec === null ? [] : [spec.isCurrent]
  checks.push(areBoundsCurrent)
  const now = clock.monotonic()
  let until = nextCursor === undefined ? Number.POSITIVE_INFINITY : now + (CURSOR_SECONDS / 2) * 1000
  for (const { source, result } of outcomes) {
    if (result instanceof SourceError || result.isCurrent === undefined) return undefined
    checks.push(result.isCurrent)
    if (source.mode === 'local') continue
    if (result.stale || result.freshUntil === undefined) return undefined
    until = Math.min(until, result.asOf + Math.floor((now - result.asOf) / 1000 + 1) * 1000)
  }
  return whileCurrent(checks, until, clock)
}

/** A separate function, so that the closure does not retain the answer. */
const whileCurrent =
  (checks: readonly ((now: number) => boolean)[], until: number, clock: Clock) => (): boolean => {
    const now = clock.monotonic()
    return now < until && checks.every((isCurrent) => isCurrent(now))
  }

/** Whether these sources have in memory what they have now. */
export function whileHeld(sources: readonly NamedSource[]): () => boolean {
  const checks = sources.map(({ held }) => whileVersion(held.version))
  return () => checks.every((isSame) => isSame())
}

function whileVersion(version: (() => string) | undefined): () => boolean {
  if (version === undefined) return () => false
  const before = version()
  return () => version() === before
}

/** `other` absent: the first alone. */
export function bothHold(one: Validity, other: Validity): Validity {
  if (one === undefined || other === undefined) return one
  return () => one() && other()
}
