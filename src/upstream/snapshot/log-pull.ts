import { describeAllMissing } from '../../domain/source/missing-source.ts'
import type { SourceLog } from '../../domain/source/source-status.ts'
import type { Pull } from './pull.ts'
import type { SnapshotState } from './snapshot-state.ts'

/** What changes with a pull that has succeeded, before the state does. */
export function logPull(
  log: SourceLog,
  upstream: string,
  { current, failure }: Pick<SnapshotState, 'current' | 'failure'>,
  { missing, listings }: { missing: Pull['missing']; listings: number },
): void {
  if (current === null) log.info({ upstream, listings }, 'upstream is held in memory')
  else if (failure !== null) log.info({ upstream, listings }, 'snapshot pulled again')
  const wasComplete = current?.missing === undefined
  if (missing !== undefined && wasComplete)
    log.warn({ upstream, missing: describeAllMissing(missing) }, 'upstream gateway answered incomplete')
  if (missing === undefined && !wasComplete) log.info({ upstream }, 'upstream gateway answers complete again')
}
