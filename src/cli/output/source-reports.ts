import type { SourceError } from '../../domain/source/source-error.ts'
import { describeMissing, hasAnswered } from '../../wire/describe-missing.ts'
import type { SourceNote, SourceReport } from '../../wire/source.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { describeSourceError } from '../registries/registry-client.ts'
import { keyHint } from '../registries/select-registries.ts'
import { printReport, printStatus, type Terminal } from './terminal.ts'

/** `failures` by the Registry's URL. */
export function printSourceReports(
  terminal: Terminal,
  reports: readonly SourceReport[],
  failures: ReadonlyMap<string, SourceError>,
): void {
  for (const report of reports) {
    const problem = describeMissing(report)
    if (problem === null) printReport(terminal, `[registry] ${describeAnswer(report)}`)
    else printStatus(terminal, `[registry] ${problem}${describeFailure(report, failures)}`)
  }
}

export function exitCodeOfReports(reports: readonly Pick<SourceNote, 'state' | 'reason'>[]): ExitCode {
  const codes = reports.map(({ state, reason }) =>
    hasAnswered(state) ? EXIT.ok : exitCodeOfFailedRead(reason === 'unauthorized'),
  )
  return combineExitCodes(codes, EXIT.noAnswer)
}

function describeAnswer({ registry, matched, returned, elapsed_ms, invalid }: SourceReport): string {
  const dropped = invalid === undefined ? '' : `, ${invalid} invalid dropped`
  const shown = returned === 0 ? '' : `, ${returned} shown`
  return `${registry}: ok, ${matched} matched${shown}${dropped} (${elapsed_ms} ms)`
}

function describeFailure(
  { registry, reason }: SourceReport,
  failures: ReadonlyMap<string, SourceError>,
): string {
  const error = failures.get(registry)
  if (error === undefined) return ''
  const failure = describeSourceError(error).replace(`${error.reason}: `, '').replace(`${registry}: `, '')
  const { retryAfterMs } = error
  if (retryAfterMs !== null) return `: ${failure}; try again in ${Math.ceil(retryAfterMs / 1000)} s`
  return `: ${failure}${reason === 'unauthorized' ? `; ${keyHint(registry)}` : ''}`
}
