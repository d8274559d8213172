import { addReading, type CommandDefinition, JSON_OPTION } from '../command.ts'
import { isHumanOutput, listingSheet, type OutputOptions } from '../output/print-listings.ts'
import { reportLookup } from '../output/source-reports.ts'
import { escapeForTerminal, print } from '../output/terminal.ts'
import { findInRegistries } from '../registries/query-registries.ts'
import { type RegistryOptions, selectRegistries } from '../registries/select-registries.ts'

type ListingOptions = RegistryOptions & OutputOptions

export const fullListingCommand: CommandDefinition<ListingOptions> = {
  define: (command) =>
    addReading(command)
      .argument('<id>', 'listing_id')
      .option(...JSON_OPTION),
  example: 'entrepot listing 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01',
  async run({ terminal, openClient }, options, [id = '']) {
    const { registries, discoveryTimeoutMs, tokens } = selectRegistries(terminal, options)
    const client = await openClient()
    const lookup = await findInRegistries(client, registries, id, discoveryTimeoutMs)
    const { found, exitCode } = reportLookup(terminal, id, lookup)
    if (found === null) return exitCode
    if (isHumanOutput(terminal, options))
      await print(terminal, `${listingSheet(found.row, tokens).join('\n')}\n`)
    else await print(terminal, `${escapeForTerminal(terminal, found.row)}\n`)
    return exitCode
  },
}
