import { plural } from '../../domain/plural.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { safeText } from '../../domain/safe-text.ts'
import { isRefusal } from '../../domain/source/reasons.ts'
import { formatAge } from '../../domain/timestamp.ts'
import type { Hints } from '../../gateway/counts/hints.ts'
import type { NearMiss } from '../../gateway/counts/near-misses.ts'
import type { MergedItem } from '../../gateway/pages/merged-item.ts'
import { renderItem } from '../../gateway/pages/render.ts'
import { countUnchecked, type Report } from '../../gateway/source-report.ts'
import { qualifiedName } from '../../gateway/sources.ts'
import { parseObject, textAt } from '../../json/value.ts'
import { describeAnswered } from '../../wire/describe-answered.ts'
import { describeOutliers, describeSuggestions, describeUnplaced } from '../../wire/describe-hints.ts'
import { describeMissing, hasAnswered } from '../../wire/describe-missing.ts'
import type { SourceNote, SourceReport } from '../../wire/source.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { priceText, shownPrice } from './price-text.ts'
import { bold, forLocale, isInteractive, printReport, printStatus, type Terminal } from './terminal.ts'

export function printSourceReports(terminal: Terminal, reports: readonly Report[]): void {
  for (const report of reports)
    if (hasAnswered(report.state)) printReport(terminal, `[registry] ${describeAnswer(report)}`)
    else printFailures(terminal, [report])
}

export function printFailures(
  terminal: Terminal,
  reports: readonly (SourceNote & { detail?: unknown })[],
): void {
  for (const report of reports) {
    const problem = describeMissing(report)
    if (problem === null) continue
    printStatus(terminal, `[registry] ${problem}${report.detail ? `: ${report.detail}` : ''}`)
  }
}

/** `2 of 2 answered · http://gateway.example/eu: copy, oldest reading 6 min old`; nothing for one Registry with listings of now. */
export function printFreshness(
  terminal: Terminal,
  reports: readonly Report[],
  { items = [], copies: counted = [] }: Freshness = {},
): void {
  const shown = items.flatMap((merged) =>
    merged.item.origin?.stale ? [qualifiedName(merged.registry, merged.item)] : [],
  )
  const copies = new Set([...shown, ...counted])
  if (reports.length === 1 && copies.size === 0) return
  const ages = reports.flatMap(({ age_seconds: age }) => age ?? [])
  const oldest = ages.length === 0 ? '' : `, oldest reading ${formatAge(Math.max(...ages))} old`
  printReport(terminal, `[registry] ${describeAnswered(reports, undefined, [...copies])}${oldest}`)
}

type Freshness = { items?: readonly MergedItem[]; copies?: readonly string[] }

/** In place of an empty answer: what differs from the question in one thing, which is bold. */
export function printNearMisses(
  terminal: Terminal,
  misses: readonly NearMiss[] = [],
  tokens: TokenTable,
): void {
  if (misses.length === 0 || terminal.isQuiet) return
  printReport(terminal, '[listing] the closest differ in one thing each:')
  const isBold = isInteractive(terminal, terminal.stderr)
  for (const { differs, merged } of misses) {
    const listing = parseObject(renderItem(merged).toString())
    const price = shownPrice(listing, tokens)
    const offer = [
      textAt(listing, 'listing_id'),
      textAt(listing, 'offer_resource', 'gpu_model') ?? textAt(listing, 'offer_resource', 'service_name'),
      textAt(listing, 'offer_resource', 'region'),
      price && priceText(price),
    ].filter((part) => part !== null)
    const has = safeText(`${differs.filter} ${differs.has ?? 'not stated'}`)
    const line = `[listing] ${safeText(offer.join('  '))}: ${isBold ? bold(has) : has}, not ${safeText(differs.wanted)}`
    terminal.stderr.write(`${forLocale(terminal, line)}\n`)
  }
}

export function exitCodeOfReports(reports: readonly Pick<SourceNote, 'state' | 'reason'>[]): ExitCode {
  if (reports.some(({ state }) => state === 'partial')) return EXIT.partial
  const codes = reports.map(({ state, reason }) =>
    hasAnswered(state) ? EXIT.ok : exitCodeOfFailedRead(isRefusal(reason)),
  )
  return combineExitCodes(codes, EXIT.noAnswer)
}

/** What is inexact about an answer, in a line each. */
export function printBounds(
  terminal: Terminal,
  {
    total,
    items = [],
    unplaced,
    suggestions,
  }: { total: number; items?: readonly MergedItem[] } & Partial<Hints>,
): void {
  for (const hint of [...describeSuggestions(total, suggestions), ...describeUnplaced(unplaced)])
    printReport(terminal, `[registry] ${hint}`)
  const outliers = items.filter(({ price }) => price?.outlier === true).length
  if (outliers > 0) printReport(terminal, `[listing] ${describeOutliers(outliers)}`)
  const unchecked = countUnchecked(items)
  if (unchecked > 0)
    printStatus(
      terminal,
      `[registry] ${plural(unchecked, 'listing')} unchecked: a better Registry, named in _meta.unchecked, could not be asked and ` +
        'may have other terms',
    )
}

/** A younger reading needs no age. */
const OLD_SECONDS = 60

function describeAnswer({
  registry,
  matched,
  returned,
  age_seconds: age = 0,
  invalid,
}: SourceReport): string {
  const dropped = invalid === undefined ? '' : `, ${invalid} invalid dropped`
  const shown = returned === 0 ? '' : `, ${returned} shown`
  const old = age < OLD_SECONDS ? '' : `, data up to ${formatAge(age)} old`
  return `${registry}: ok, ${matched} matched${shown}${dropped}${old}`
}
