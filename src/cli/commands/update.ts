import { isListingStatus, LISTING_STATUSES } from '../../domain/listing.ts'
import { addSigning, type CommandDefinition } from '../command.ts'
import { usageError } from '../exit-codes.ts'
import { printWriteResults } from '../output/write-results.ts'
import { endpointUrl } from '../registries/registry-client.ts'
import { RegistryWriter, type WriteOptions } from '../registries/registry-writer.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { nowSeconds, openWallet } from '../signing/wallet.ts'

type UpdateOptions = WriteOptions & {
  status?: string
  /** `none` clears it. */
  oracleAddress?: string
}

export const updateCommand: CommandDefinition<UpdateOptions> = {
  define: (command) =>
    addSigning(command)
      .argument('<id>', 'listing_id')
      .option('--status <status>', 'open, closed or expired')
      .option('--oracle-address <address>', 'the new oracle; none removes it'),
  example: 'entrepot update 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01 --status closed --key-file seller.key',
  async run({ terminal, openClient }, options, [listingId = '']) {
    const changes = readChanges(options)
    const { registries } = selectRegistries(terminal, options, 'write')
    const wallet = await openWallet(terminal, options.keyFile)
    const client = await openClient()
    const { deadline } = options
    const results = registries.map((registry) => {
      const url = endpointUrl(registry, `/listings/${encodeURIComponent(listingId)}`)
      return new RegistryWriter({ terminal, client, deadline }, registry, 1).write({
        listingId,
        sign: async () => {
          const timestamp = nowSeconds()
          const signature = await wallet.sign('update_listing', listingId, timestamp)
          const body = JSON.stringify({ ...changes, signature, timestamp })
          return { timestamp, request: { method: 'PUT', url, body } }
        },
      })
    })
    return printWriteResults(terminal, await Promise.all(results), {
      verb: 'updated',
      json: options.json,
    })
  },
}

function readChanges({ status, oracleAddress }: UpdateOptions): Record<string, string | null | undefined> {
  if (status === undefined && oracleAddress === undefined)
    throw usageError('nothing to update: give --status, --oracle-address or both')
  if (status !== undefined && !isListingStatus(status))
    throw usageError(`--status must be one of ${LISTING_STATUSES.join(', ')}, not '${status}'`)
  return { status, oracle_address: oracleAddress === 'none' ? null : oracleAddress }
}
