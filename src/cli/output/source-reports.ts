import type { SourceError } from '../../domain/source-error.ts'
import type { SourceReport } from '../../wire/source.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { printStatus, type Terminal } from './terminal.ts'

/** `faults` by the Registry's URL. */
export function printSourceReports(
  terminal: Terminal,
  reports: readonly SourceReport[],
  faults: ReadonlyMap<string, SourceError>,
): void {
  for (const report of reports) {
    const outcome = hasData(report) ? describeAnswer(report) : describeFailure(report, faults)
    printStatus(terminal, `[registry] ${report.registry}: ${outcome}`)
  }
}

export function exitCodeOfReports(reports: readonly SourceReport[]): ExitCode {
  const codes = reports.map((report) =>
    hasData(report) ? EXIT.ok : exitCodeOfFailedRead(report.reason === 'unauthorized'),
  )
  return combineExitCodes(codes, EXIT.noAnswer)
}

const hasData = ({ state }: SourceReport): boolean => state === 'loaded' || state === 'stale'

function describeAnswer({ matched, returned, elapsed_ms, invalid }: SourceReport): string {
  const dropped = invalid === undefined ? '' : `, ${invalid} invalid dropped`
  return `ok, ${matched} matched, ${returned} shown${dropped} (${elapsed_ms} ms)`
}

function describeFailure(
  { registry, state, reason, filters }: SourceReport,
  faults: ReadonlyMap<string, SourceError>,
): string {
  const fault = faults.get(registry)?.message.replace(`${registry}: `, '')
  const named = filters === undefined ? '' : ` ${filters.join(', ')}`
  const hint =
    reason === 'unauthorized' && fault !== undefined
      ? `; it wants a key: [registry.auth] "${registry}" = "…" in buyer.secrets.toml`
      : ''
  return `failed, ${reason ?? state}${named}${fault === undefined ? '' : `: ${fault}`}${hint}`
}
