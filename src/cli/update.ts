import { isListingStatus, LISTING_STATUSES } from '../domain/listing.ts'
import { sendWithRetry } from './client.ts'
import { type ExitCode, usageError } from './exit.ts'
import { type Market, routeOf } from './market.ts'
import { WRITE_TIMEOUT_MS, type WriteOptions } from './publish.ts'
import { selectRegistries } from './select-registries.ts'
import type { Terminal } from './terminal.ts'
import { openWallet } from './wallet.ts'
import { reportResults, resultOf, resultOfFailure } from './write-results.ts'

export type UpdateOptions = WriteOptions & {
  status?: string
  /** `none` clears it. */
  oracleAddress?: string
}

/** `entrepot update ID`: status and oracle are all that an update can change (`protocol.md` 1.8). */
export const update = async (
  terminal: Terminal,
  market: Market,
  listingId: string,
  options: UpdateOptions,
): Promise<ExitCode> => {
  const changes = readChanges(options)
  const { registries } = selectRegistries(terminal, options)
  const wallet = await openWallet(terminal, options.keyFile)
  const timestamp = Math.floor(Date.now() / 1000)
  const signature = await wallet.sign('update_listing', listingId, timestamp)
  const body = JSON.stringify({ ...changes, signature, timestamp })
  const results = registries.map((registry) => {
    const subject = { registry: registry.url, listing_id: listingId }
    const url = routeOf(registry, `/listings/${encodeURIComponent(listingId)}`)
    const call = { method: 'PUT', url, key: registry.key, body, timeoutMs: WRITE_TIMEOUT_MS } as const
    return sendWithRetry(market, call).then(
      (reply) => resultOf(subject, reply),
      (cause: unknown) => resultOfFailure(subject, cause),
    )
  })
  return reportResults(terminal, await Promise.all(results), { verb: 'updated', json: options.json ?? false })
}

const readChanges = ({ status, oracleAddress }: UpdateOptions): Record<string, string | null> => {
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
