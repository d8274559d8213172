import { type RetriedReply, sendWithRetry } from './client.ts'
import type { ExitCode } from './exit.ts'
import { type Market, routeOf } from './market.ts'
import { WRITE_TIMEOUT_MS, type WriteOptions } from './publish.ts'
import { selectRegistries } from './select-registries.ts'
import type { Terminal } from './terminal.ts'
import { openWallet } from './wallet.ts'
import { reportResults, resultOf, resultOfFailure } from './write-results.ts'

/** `entrepot delete ID`: for good. The signature travels in the query (`protocol.md` 1.9). */
export const remove = async (
  terminal: Terminal,
  market: Market,
  listingId: string,
  options: WriteOptions,
): Promise<ExitCode> => {
  const { registries } = selectRegistries(terminal, options)
  const wallet = await openWallet(terminal, options.keyFile)
  const timestamp = Math.floor(Date.now() / 1000)
  const signature = await wallet.sign('delete_listing', listingId, timestamp)
  const path = `/listings/${encodeURIComponent(listingId)}?signature=${signature}&timestamp=${timestamp}`
  const results = registries.map((registry) => {
    const subject = { registry: registry.url, listing_id: listingId }
    const call = { method: 'DELETE', url: routeOf(registry, path), key: registry.key } as const
    return sendWithRetry(market, { ...call, timeoutMs: WRITE_TIMEOUT_MS }).then(
      (reply) => resultOf(subject, isGone(reply) ? { ...reply, status: 204 } : reply),
      (cause: unknown) => resultOfFailure(subject, cause),
    )
  })
  return reportResults(terminal, await Promise.all(results), { verb: 'deleted', json: options.json ?? false })
}

/** Unknown only now, after an attempt whose answer was lost: that one has deleted it. */
const isGone = ({ status, attempts }: RetriedReply): boolean => status === 404 && attempts > 1
