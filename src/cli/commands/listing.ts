import { Option } from 'commander'
import { renderItem } from '../../gateway/pages/render.ts'
import { describeSeller } from '../../wire/describe-seller.ts'
import {
  addReading,
  type CommandDefinition,
  JSON_OPTION,
  LISTING_ARGUMENT,
  TABLE_OPTION,
} from '../command.ts'
import { listingSheet } from '../output/print-listings.ts'
import {
  escapeForTerminal,
  isHumanOutput,
  type OutputOptions,
  print,
  printReport,
  printText,
} from '../output/terminal.ts'
import { lookUpListing, sellerOffers } from '../registries/look-up-listing.ts'
import { type RegistryOptions, selectRegistries } from '../registries/select-registries.ts'

type ListingOptions = RegistryOptions & OutputOptions

export const listingCommand: CommandDefinition<ListingOptions> = {
  summary: 'print one listing in full',
  define: (command) =>
    addReading(command)
      .argument(...LISTING_ARGUMENT)
      .addOption(new Option(...TABLE_OPTION).conflicts(['json']))
      .option(...JSON_OPTION),
  example: 'entrepot listing 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01',
  async run(context, options, [id = '']) {
    const { terminal } = context
    const selected = selectRegistries(terminal, options)
    const { client, lookup, exitCode } = await lookUpListing(context, selected, id)
    if (lookup === null) return exitCode
    const row = renderItem(lookup.item).toString()
    if (isHumanOutput(terminal, options)) {
      const offers = await sellerOffers(client, selected, lookup.item.item.publisher)
      if (offers !== null) printReport(terminal, `[seller] ${describeSeller(offers)}`)
      await printText(terminal, await listingSheet(row, selected.tokens))
    } else await print(terminal, `${escapeForTerminal(terminal, row)}\n`)
    return exitCode
  },
}
