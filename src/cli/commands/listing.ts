import {
  addDiscovery,
  addRegistries,
  type CommandContext,
  type CommandDefinition,
  JSON_OPTION,
} from '../command.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { isHumanOutput, listingSheet, type OutputOptions } from '../output/print-listings.ts'
import { exitCodeOfReports } from '../output/source-reports.ts'
import { escapeForTerminal, print, printStatus } from '../output/terminal.ts'
import { findAndReport } from '../registries/query-registries.ts'
import { type RegistryOptions, selectRegistries } from '../registries/select-registries.ts'

type ListingOptions = RegistryOptions & OutputOptions

export const listingCommand: CommandDefinition<ListingOptions> = {
  define: (command) =>
    addDiscovery(addRegistries(command))
      .argument('<id>', 'listing_id')
      .option(...JSON_OPTION),
  example: 'entrepot listing 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01',
  run: listing,
}

async function listing(
  { terminal, openClient }: CommandContext,
  options: ListingOptions,
  [id = '']: readonly string[],
): Promise<ExitCode> {
  const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
  const { row, reports } = await findAndReport(
    terminal,
    await openClient(),
    registries,
    id,
    discoveryTimeoutMs,
  )
  const exitCode = exitCodeOfReports(reports)
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
