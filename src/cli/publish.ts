import pLimit from 'p-limit'
import { sendWithRetry } from './client.ts'
import type { ExitCode } from './exit.ts'
import { type DraftListing, readListingFile } from './listing-file.ts'
import { type Market, routeOf } from './market.ts'
import { type Registry, type RegistryOptions, selectRegistries } from './select-registries.ts'
import { type Terminal, tell } from './terminal.ts'
import { openWallet, type Wallet } from './wallet.ts'
import { reportResults, resultOf, resultOfFailure, type WriteResult } from './write-results.ts'

export type WriteOptions = RegistryOptions & { keyFile?: string; json?: boolean }

/** Time for one attempt at a write: the Registry recovers a signature and makes the write durable. */
export const WRITE_TIMEOUT_MS = 10_000
/** Requests under way to one Registry. */
const WRITES_IN_FLIGHT = 4

/** `entrepot publish FILE`: every listing of the file to every selected Registry, with a result for each pair. */
export const publish = async (
  terminal: Terminal,
  market: Market,
  file: string,
  options: WriteOptions,
): Promise<ExitCode> => {
  const { registries } = selectRegistries(terminal, options)
  const drafts = await readListingFile(terminal, file)
  if (new Set(drafts.map(({ storefrontUrl }) => storefrontUrl ?? '')).size > 1)
    tell(
      terminal,
      `${file} names several storefronts; a wallet has one, and what is published last sets it for all`,
    )
  const wallet = await openWallet(terminal, options.keyFile)
  const now = Math.floor(Date.now() / 1000)
  const bodies = await signAll(drafts, wallet, now)
  const results = await Promise.all(registries.map((registry) => publishTo(market, registry, bodies)))
  return reportResults(terminal, results.flat(), { verb: 'published', json: options.json ?? false })
}

type SignedDraft = { listingId: string; body: string }

/**
 * The storefront belongs to the publisher, and one signature may not bring two of them (`protocol.md` 8, Replay):
 * listings with another storefront are signed with another second.
 */
const signAll = async (
  drafts: readonly DraftListing[],
  wallet: Wallet,
  now: number,
): Promise<SignedDraft[]> => {
  const storefronts = [...new Set(drafts.map(({ storefrontUrl }) => storefrontUrl))]
  const claims = await Promise.all(
    storefronts.map(async (_storefront, n) => {
      const timestamp = now - n
      return { timestamp, signature: await wallet.sign('create_listing', wallet.address, timestamp) }
    }),
  )
  return drafts.map(({ listingId, storefrontUrl, members }) => {
    const claim = {
      scheme: 'eip191',
      identifier: wallet.address,
      ...claims[storefronts.indexOf(storefrontUrl)],
    }
    const listed = [...members].map(([name, text]) => `${JSON.stringify(name)}:${text},`).join('')
    return { listingId, body: `{${listed}${JSON.stringify(claim).slice(1)}` }
  })
}

const publishTo = (
  market: Market,
  registry: Registry,
  drafts: readonly SignedDraft[],
): Promise<WriteResult[]> => {
  const inTurn = pLimit(WRITES_IN_FLIGHT)
  const url = routeOf(registry, '/listings')
  return Promise.all(
    drafts.map(({ listingId, body }) =>
      inTurn(async () => {
        const subject = { registry: registry.url, listing_id: listingId }
        const call = { method: 'POST', url, key: registry.key, body, timeoutMs: WRITE_TIMEOUT_MS } as const
        return sendWithRetry(market, call).then(
          (reply) => resultOf(subject, reply),
          (cause: unknown) => resultOfFailure(subject, cause),
        )
      }),
    ),
  )
}
