import { Option } from 'commander'
import { updateWrite } from '../../client/signed-write.ts'
import { LISTING_STATUSES } from '../../domain/listing.ts'
import { addSigning, type CommandDefinition, OWN_LISTING_ARGUMENT } from '../command.ts'
import { usageError } from '../exit-codes.ts'
import type { WriteOptions } from '../writes/run-writes.ts'
import { writeOwnListing } from '../writes/write-own-listing.ts'

type UpdateOptions = WriteOptions & {
  status?: string
  /** `none` clears it. */
  oracleAddress?: string
}

export const updateCommand: CommandDefinition<UpdateOptions> = {
  summary: 'change the status or the oracle of a listing',
  define: (command) =>
    addSigning(command)
      .argument(...OWN_LISTING_ARGUMENT)
      .addOption(new Option('--status <status>', 'the new status').choices(LISTING_STATUSES))
      .option('--oracle-address <address>', 'the new oracle; none removes it'),
  example: 'entrepot update example-h200-1 --status closed --key-file seller.key -r https://open.example',
  async run(context, options, [id = '']) {
    const changes = readChanges(options)
    const action = changes.status === 'closed' ? 'close' : 'update'
    return writeOwnListing(context, options, id, (wallet, listingId) => ({
      ...updateWrite(wallet, listingId, changes),
      action,
    }))
  },
}

function readChanges({ status, oracleAddress }: UpdateOptions): Record<string, string | null | undefined> {
  if (status === undefined && oracleAddress === undefined)
    throw usageError('nothing to update: give --status, --oracle-address or both')
  return { status, oracle_address: oracleAddress === 'none' ? null : oracleAddress }
}
