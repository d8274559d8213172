import { isListingStatus, LISTING_STATUSES } from '../../domain/listing.ts'
import { type ExitCode, usageError } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import { printWriteResults } from '../output/write-results.ts'
import { endpointUrl, type RegistryClient } from '../registries/registry-client.ts'
import { RegistryWriter, type WriteOptions } from '../registries/registry-writer.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { nowSeconds, openWallet } from '../signing/wallet.ts'

export type UpdateOptions = WriteOptions & {
  status?: string
  /** `none` clears it. */
  oracleAddress?: string
}

export async function update(
  terminal: Terminal,
  client: RegistryClient,
  listingId: string,
  options: UpdateOptions,
): Promise<ExitCode> {
  const changes = readChanges(options)
  const { registries } = selectRegistries(terminal, options)
  const wallet = await openWallet(terminal, options.keyFile)
  const { deadline } = options
  const results = registries.map((registry) => {
    const url = endpointUrl(registry, `/listings/${encodeURIComponent(listingId)}`)
    return new RegistryWriter({ terminal, client, deadline }, registry, 1).write({
      listingId,
      sign: async () => {
        const timestamp = nowSeconds()
        const signature = await wallet.sign('update_listing', listingId, timestamp)
        const body = JSON.stringify({ ...changes, signature, timestamp })
        return { timestamp, call: { method: 'PUT', url, body } }
      },
    })
  })
  return printWriteResults(terminal, await Promise.all(results), {
    verb: 'updated',
    json: options.json ?? false,
  })
}

function readChanges({ status, oracleAddress }: UpdateOptions): Record<string, string | null> {
  if (status === undefined && oracleAddress === undefined)
    throw usageError('nothing to update: give --status, --oracle-address or both')
  if (status !== undefined && !isListingStatus(status))
    throw usageError(`--status must be one of ${LISTING_STATUSES.join(', ')}, not '${status}'`)
  return {
    ...(status === undefined ? {} : { status }),
    ...(oracleAddress === undefined
      ? {}
      : { oracle_address: oracleAddress === 'none' ? null : oracleAddress }),
  }
}
