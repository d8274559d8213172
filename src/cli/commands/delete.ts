import type { ExitCode } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import { printWriteResults } from '../output/write-results.ts'
import { endpointUrl, type RegistryClient } from '../registries/registry-client.ts'
import { RegistryWriter, type WriteOptions } from '../registries/registry-writer.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { nowSeconds, openWallet } from '../signing/wallet.ts'

export async function remove(
  terminal: Terminal,
  client: RegistryClient,
  listingId: string,
  options: WriteOptions,
): Promise<ExitCode> {
  const { registries } = selectRegistries(terminal, options)
  const wallet = await openWallet(terminal, options.keyFile)
  const { deadline } = options
  const results = registries.map((registry) =>
    new RegistryWriter({ terminal, client, deadline }, registry, 1).write({
      listingId,
      sign: async () => {
        const timestamp = nowSeconds()
        const signature = await wallet.sign('delete_listing', listingId, timestamp)
        const path = `/listings/${encodeURIComponent(listingId)}?signature=${signature}&timestamp=${timestamp}`
        return { timestamp, call: { method: 'DELETE', url: endpointUrl(registry, path) } }
      },
      provesSuccess: ({ status }) => status === 404,
    }),
  )
  return printWriteResults(terminal, await Promise.all(results), {
    verb: 'deleted',
    json: options.json ?? false,
  })
}
