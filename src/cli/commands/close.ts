import { addClosing, addSigning, type CommandDefinition } from '../command.ts'
import { usageError } from '../exit-codes.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { type SyncOptions, syncListings } from '../writes/sync-listings.ts'

type CloseOptions = SyncOptions & { all?: boolean }

export const closeCommand: CommandDefinition<CloseOptions> = {
  summary: 'close all open listings of your wallet',
  define: (command) =>
    addClosing(
      addSigning(command).option('--all', 'close every one, at each selected Registry'),
      'they are closed',
    ),
  example: 'entrepot close --all --key-file seller.key -r https://open.example',
  async run(context, options) {
    if (options.all !== true)
      throw usageError('write --all to close every listing; entrepot update ID --status closed closes one')
    const selected = selectRegistries(context.terminal, options, 'write')
    return syncListings(context, options, {
      selected,
      drafts: [],
      few: 0,
      isStdinTaken: false,
    })
  },
}
