import { plural } from '../../domain/plural.ts'
import type { Hints } from '../../gateway/hints.ts'
import type { MergedItem } from '../../gateway/merged-item.ts'
import { countUnchecked, type Report } from '../../gateway/source-report.ts'
import { describeSuggestions, describeUnplaced } from '../../wire/describe-hints.ts'
import { describeMissing, hasAnswered } from '../../wire/describe-missing.ts'
import type { SourceNote, SourceReport } from '../../wire/source.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { printReport, printStatus, type Terminal } from './terminal.ts'

export function printSourceReports(terminal: Terminal, reports: readonly Report[]): void {
  for (const report of reports) {
    const problem = describeMissing(report)
    if (problem === null) printReport(terminal, `[registry] ${describeAnswer(report)}`)
    else printStatus(terminal, `[registry] ${problem}${report.detail ? `: ${report.detail}` : ''}`)
  }
}

export function exitCodeOfReports(reports: readonly Pick<SourceNote, 'state' | 'reason'>[]): ExitCode {
  const codes = reports.map(({ state, reason }) =>
    hasAnswered(state) ? EXIT.ok : exitCodeOfFailedRead(reason === 'unauthorized'),
  )
  return combineExitCodes(codes, EXIT.noAnswer)
}

/** What is inexact about an answer, in a line each. */
export function printBounds(
  terminal: Terminal,
  {
    total,
    isTotalExact,
    items = [],
    unplaced,
    suggestions,
  }: { total: number; isTotalExact: boolean; items?: readonly MergedItem[] } & Partial<Hints>,
): void {
  for (const hint of [...describeSuggestions(total, suggestions), ...describeUnplaced(unplaced)])
    printReport(terminal, `[registry] ${hint}`)
  if (!isTotalExact)
    printReport(
      terminal,
      `[registry] at most ${plural(total, 'listing')}: copies that better Registries replace may be counted`,
    )
  const unchecked = countUnchecked(items)
  if (unchecked > 0)
    printStatus(
      terminal,
      `[registry] ${plural(unchecked, 'listing')} unchecked: a better Registry, named in _meta.unchecked, could not be asked and ` +
        'may have other terms',
    )
}

function describeAnswer({
  registry,
  matched,
  total_is,
  returned,
  elapsed_ms,
  invalid,
}: SourceReport): string {
  const bound = total_is === 'at_most' ? 'at most ' : ''
  const dropped = invalid === undefined ? '' : `, ${invalid} invalid dropped`
  const shown = returned === 0 ? '' : `, ${returned} shown`
  return `${registry}: ok, ${bound}${matched} matched${shown}${dropped} (${elapsed_ms} ms)`
}
