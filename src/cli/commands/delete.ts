import { deleteWrite } from '../../client/signed-write.ts'
import { addSigning, type CommandDefinition, OWN_LISTING_ARGUMENT } from '../command.ts'
import type { WriteOptions } from '../writes/run-writes.ts'
import { writeOwnListing } from '../writes/write-own-listing.ts'

export const deleteCommand: CommandDefinition<WriteOptions> = {
  summary: 'delete a listing permanently',
  define: (command) => addSigning(command).argument(...OWN_LISTING_ARGUMENT),
  example: 'entrepot delete example-h200-1 --key-file seller.key -r https://open.example',
  run: (context, options, [id = '']) =>
    writeOwnListing(context, options, id, (wallet, listingId) => ({
      ...deleteWrite(wallet, listingId),
      action: 'delete',
      provesSuccess: ({ status }) => status === 404,
    })),
}
