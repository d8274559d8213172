import { EXIT, type ExitCode } from '../exit-codes.ts'
import { isForPeople, listingSheet, type OutputOptions } from '../output/print-listings.ts'
import { exitCodeOf } from '../output/source-reports.ts'
import { jsonFor, print, type Terminal, tell } from '../output/terminal.ts'
import { find } from '../registries/query-registries.ts'
import type { Market } from '../registries/registry-client.ts'
import { type RegistryOptions, selectRegistries } from '../registries/select-registries.ts'

export type ListingOptions = RegistryOptions & OutputOptions

export async function listing(
  terminal: Terminal,
  market: Market,
  id: string,
  options: ListingOptions,
): Promise<ExitCode> {
  const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
  const { row, reports } = await find(terminal, market, registries, id, discoveryTimeoutMs)
  const exitCode = exitCodeOf(reports)
  if (row !== null) {
    if (isForPeople(terminal, options)) {
      await print(terminal, `${listingSheet(row).join('\n')}\n`)
    } else await print(terminal, `${jsonFor(terminal, row)}\n`)
    return exitCode
  }
  if (exitCode !== EXIT.ok) return exitCode
  tell(terminal, `Listing '${id}' not found in any of ${registries.length} registries.`)
  return EXIT.failure
}
