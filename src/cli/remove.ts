import type { ExitCode } from './exit.ts'
import { type Market, routeOf } from './market.ts'
import { RegistryWriter, type WriteOptions } from './registry-writer.ts'
import { selectRegistries } from './select-registries.ts'
import type { Terminal } from './terminal.ts'
import { nowSeconds, openWallet } from './wallet.ts'
import { reportResults } from './write-results.ts'

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
