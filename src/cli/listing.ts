import { EXIT, type ExitCode } from './exit.ts'
import { find } from './find-listing.ts'
import type { Market } from './market.ts'
import { exitCodeOf } from './outcomes.ts'
import { isForPeople, type OutputOptions } from './print-listings.ts'
import { type RegistryOptions, selectRegistries } from './select-registries.ts'
import { jsonFor, print, type Terminal, tell } from './terminal.ts'

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
      const { listingSheet } = await import('./listing-sheet.ts')
      await print(terminal, `${listingSheet(row).join('\n')}\n`)
    } else await print(terminal, `${jsonFor(terminal, row)}\n`)
    return exitCode
  }
  if (exitCode !== EXIT.ok) return exitCode
  tell(terminal, `Listing '${id}' not found in any of ${registries.length} registries.`)
  return EXIT.failure
}
