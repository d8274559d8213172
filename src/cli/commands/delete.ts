import type { ExitCode } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import { reportResults } from '../output/write-results.ts'
import { type Market, routeOf } from '../registries/registry-client.ts'
import { RegistryWriter, type WriteOptions } from '../registries/registry-writer.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { nowSeconds, openWallet } from '../signing/wallet.ts'

export async function remove(
  terminal: Terminal,
  market: Market,
  listingId: string,
  options: WriteOptions,
): Promise<ExitCode> {
  const { registries } = selectRegistries(terminal, options)
  const wallet = await openWallet(terminal, options.keyFile)
  const { deadline } = options
  const results = registries.map((registry) =>
    new RegistryWriter({ terminal, market, deadline }, registry, 1).write({
      listingId,
      sign: async () => {
        const timestamp = nowSeconds()
        const signature = await wallet.sign('delete_listing', listingId, timestamp)
        const path = `/listings/${encodeURIComponent(listingId)}?signature=${signature}&timestamp=${timestamp}`
        return { timestamp, call: { method: 'DELETE', url: routeOf(registry, path) } }
      },
      isDoneBy: ({ status }) => status === 404,
    }),
  )
  return reportResults(terminal, await Promise.all(results), { verb: 'deleted', json: options.json ?? false })
}
