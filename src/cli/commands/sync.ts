import { AS_IS_OPTION, addClosing, addSigning, type CommandDefinition, LISTING_FILE } from '../command.ts'
import { readListingFile } from '../listing-file.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { type SyncOptions, syncListings } from '../writes/sync-listings.ts'

/** Fewer closed listings are no question. */
const FEW = 3

export const syncCommand: CommandDefinition<SyncOptions> = {
  summary: 'publish the changed listings of a file, and close your listings that are not in it',
  define: (command) =>
    addClosing(
      addSigning(command).argument(...LISTING_FILE),
      'more than a tenth of the open listings is closed',
    ).option(...AS_IS_OPTION),
  example: 'entrepot sync listings.yaml --key-file seller.key -r https://open.example --dry-run',
  async run(context, options, [file = '']) {
    const { terminal } = context
    const selected = selectRegistries(terminal, options, 'write')
    const drafts = await readListingFile(terminal, file, selected.tokens)
    return syncListings(context, options, { selected, drafts, few: FEW, isStdinTaken: file === '-' })
  },
}
