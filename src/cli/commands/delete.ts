import { addSigning, type CommandDefinition, OWN_LISTING_ARGUMENT } from '../command.ts'
import { deleteWrite } from '../writes/owner-writes.ts'
import type { WriteOptions } from '../writes/run-writes.ts'
import { writeOwnListing } from '../writes/write-own-listing.ts'

export const deleteCommand: CommandDefinition<WriteOptions> = {
  define: (command) => addSigning(command).argument(...OWN_LISTING_ARGUMENT),
  example: 'entrepot delete 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01 --key-file seller.key',
  run: (context, options, [id = '']) => writeOwnListing(context, options, id, deleteWrite),
}
