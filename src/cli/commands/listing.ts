import { EXIT, type ExitCode } from '../exit-codes.ts'
import { isHumanOutput, listingSheet, type OutputOptions } from '../output/print-listings.ts'
import { exitCodeOf } from '../output/source-reports.ts'
import { escapeForTerminal, print, printStatus, type Terminal } from '../output/terminal.ts'
import { findAndReport } from '../registries/query-registries.ts'
import type { RegistryClient } from '../registries/registry-client.ts'
import { type RegistryOptions, selectRegistries } from '../registries/select-registries.ts'

export type ListingOptions = RegistryOptions & OutputOptions

export async function listing(
  terminal: Terminal,
  client: RegistryClient,
  id: string,
  options: ListingOptions,
): Promise<ExitCode> {
  const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
  const { row, reports } = await findAndReport(terminal, client, registries, id, discoveryTimeoutMs)
  const exitCode = exitCodeOf(reports)
  if (row !== null) {
    if (isHumanOutput(terminal, options)) {
      await print(terminal, `${listingSheet(row).join('\n')}\n`)
    } else await print(terminal, `${escapeForTerminal(terminal, row)}\n`)
    return exitCode
  }
  if (exitCode !== EXIT.ok) return exitCode
  printStatus(terminal, `Listing '${id}' not found in any of ${registries.length} registries.`)
  return EXIT.failure
}
