import { describeAllMissing } from '../../domain/source/missing-source.ts'
import type { SourceLog } from '../../domain/source/source-status.ts'
import type { Pull } from './pull.ts'
import type { SnapshotState } from './snapshot-state.ts'

/** What changes with a pull that has succeeded, before the state does. */
export function logPull(
  log: SourceLog,
  upstream: string,
  { current, failure }: Pick<SnapshotState, 'current' | 'failure'>,
  { missing, listings, partOf }: Pick<Pull, 'missing' | 'partOf'> & { listings: number },
): void {
  const before = current?.isLoading === true ? null : current
  if (before === null) log.info({ upstream, listings }, 'upstream is held in memory')
  else if (failure !== null) log.info({ upstream, listings }, 'snapshot pulled again')
  if (partOf !== undefined && before?.partOf === undefined)
    log.warn({ upstream, reason: 'too_large', listings, of: partOf }, 'upstream is held in part')
  if (partOf === undefined && before?.partOf !== undefined)
    log.info({ upstream, listings }, 'upstream is held whole again')
  const wasComplete = before?.missing === undefined
  if (missing !== undefined && wasComplete)
    log.warn({ upstream, missing: describeAllMissing(missing) }, 'upstream gateway answered incomplete')
  if (missing === undefined && !wasComplete) log.info({ upstream }, 'upstream gateway answers complete again')
}
