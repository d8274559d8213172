import { addSigning, type CommandDefinition } from '../command.ts'
import { printWriteResults } from '../output/write-results.ts'
import { endpointUrl } from '../registries/registry-client.ts'
import { RegistryWriter, type WriteOptions } from '../registries/registry-writer.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { nowSeconds, openWallet } from '../signing/wallet.ts'

export const deleteCommand: CommandDefinition<WriteOptions> = {
  define: (command) => addSigning(command).argument('<id>', 'listing_id'),
  example: 'entrepot delete 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01 --key-file seller.key',
  async run({ terminal, openClient }, options, [listingId = '']) {
    const { registries } = selectRegistries(terminal, options, 'write')
    const wallet = await openWallet(terminal, options.keyFile)
    const client = await openClient()
    const { deadline } = options
    const results = registries.map((registry) =>
      new RegistryWriter({ terminal, client, deadline }, registry, 1).write({
        listingId,
        sign: async () => {
          const timestamp = nowSeconds()
          const signature = await wallet.sign('delete_listing', listingId, timestamp)
          const path = `/listings/${encodeURIComponent(listingId)}?signature=${signature}&timestamp=${timestamp}`
          return { timestamp, request: { method: 'DELETE', url: endpointUrl(registry, path) } }
        },
        provesSuccess: ({ status }) => status === 404,
      }),
    )
    return printWriteResults(terminal, await Promise.all(results), {
      verb: 'deleted',
      json: options.json,
    })
  },
}
