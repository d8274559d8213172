import { merge } from '../domain/merge.ts'
import { SourceError } from '../domain/source-error.ts'
import { reportFailure, reportPage, type SourceReport } from '../gateway/source-report.ts'
import { EXIT, type ExitCode } from './exit.ts'
import type { Market } from './market.ts'
import { exitCodeOf, tellOutcomes } from './outcomes.ts'
import { isForPeople, jsonFor, type OutputOptions } from './print-listings.ts'
import { type Row, toRow } from './row.ts'
import { type Registry, type RegistryOptions, selectRegistries } from './select-registries.ts'
import { print, type Terminal, tell } from './terminal.ts'

export type ListingOptions = RegistryOptions & OutputOptions

/** `entrepot listing ID`: the copy of the first selected Registry that has it; all are asked at once. */
export const listing = async (
  terminal: Terminal,
  market: Market,
  id: string,
  options: ListingOptions,
): Promise<ExitCode> => {
  const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
  const { row, reports } = await find(terminal, market, registries, id, discoveryTimeoutMs)
  const exitCode = exitCodeOf(reports)
  if (row !== null) {
    if (isForPeople(terminal, options)) {
      const { listingSheet } = await import('./listing-sheet.ts')
      await print(terminal, `${listingSheet(row).join('\n')}\n`)
    } else await print(terminal, `${jsonFor(terminal, row)}\n`)
    return exitCode
  }
  if (exitCode !== EXIT.ok) return exitCode
  tell(terminal, `Listing '${id}' not found in any of ${registries.length} registries.`)
  return EXIT.failure
}

/** The listing's row with `_meta`, and where it was looked for. What each Registry said is told on stderr. */
export const find = async (
  terminal: Terminal,
  market: Market,
  registries: readonly Registry[],
  id: string,
  timeoutMs: number,
): Promise<{ row: Row | null; registry: Registry | null; reports: readonly SourceReport[] }> => {
  const started = performance.now()
  const outcomes = await Promise.all(
    registries.map(async (registry, priority) => {
      const result = await market.findListing(registry, id, timeoutMs).catch((cause: unknown) => {
        if (cause instanceof SourceError) return cause
        throw cause
      })
      return {
        registry,
        source: { name: registry.url, priority },
        result,
        elapsedMs: performance.now() - started,
      }
    }),
  )
  const answers = outcomes.flatMap(({ source, result }) =>
    result instanceof SourceError ? [] : [{ source, page: result }],
  )
  const { items } = merge(answers, { offset: 0, limit: registries.length })
  const shown = registries.flatMap(({ url }) => items.find(({ registry }) => registry === url) ?? [])[0]
  const reports = outcomes.map(({ registry: { url }, result, elapsedMs }) =>
    result instanceof SourceError
      ? reportFailure(url, result, elapsedMs)
      : reportPage(url, result, shown?.registry === url ? 1 : 0, elapsedMs),
  )
  const faults = new Map(
    outcomes.flatMap(({ registry, result }) =>
      result instanceof SourceError ? [[registry.url, result] as const] : [],
    ),
  )
  tellOutcomes(terminal, reports, faults)
  return {
    row: shown === undefined ? null : toRow(shown),
    registry: registries.find(({ url }) => url === shown?.registry) ?? null,
    reports,
  }
}
