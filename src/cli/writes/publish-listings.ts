import pLimit from 'p-limit'
import { nowSeconds, publishWrite, updateWrite } from '../../client/signed-write.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { type DraftListing, draftJson } from '../listing-file.ts'
import { describeIds } from '../output/buyers-reading.ts'
import { printStatus, printWarning, type Terminal } from '../output/terminal.ts'
import { fetchListingCheck, type ListingCheck } from '../registries/listing-check.ts'
import type { RegistryClient } from '../registries/registry-client.ts'
import type { Registry } from '../registries/select-registries.ts'
import type { Seller } from '../signing/seller-keys.ts'
import { type RegistryWriter, wait } from './registry-writer.ts'
import type { Write, WriteResult } from './write-result.ts'

/** Per Registry. */
const WRITES_IN_FLIGHT = 4
/** Registries accept five minutes. */
const MAX_SECONDS_AHEAD = 60

export type Publishing = Pick<Seller, 'account'> & { writer: RegistryWriter; signal: AbortSignal }

/**
 * One storefront after the other, that of the last listing last. A signature of the plain line covers the wallet and the second,
 * and a Registry accepts it for one storefront only. So each storefront gets a second of its own, at most a minute ahead of
 * the clock. Results are in the order of the drafts.
 */
export async function publishListings(
  drafts: readonly DraftListing[],
  { writer, account, signal }: Publishing,
): Promise<WriteResult[]> {
  const inTurn = pLimit(WRITES_IN_FLIGHT)
  const results = new Map<DraftListing, WriteResult>()
  let second = 0
  const publishOne = async (draft: DraftListing): Promise<void> => {
    const write = publishWrite(account, draft.listingId, draftJson(draft))
    const sign = (now: number) => {
      second = Math.max(now, second)
      return write.sign(second)
    }
    results.set(draft, await writer.write({ ...write, sign, action: 'publish' }))
  }
  const groups = Map.groupBy(drafts.toReversed(), ({ storefrontUrl }) => storefrontUrl)
  for (const group of [...groups.values()].reverse()) {
    if (account !== null) second = Math.max(nowSeconds(), second + 1)
    while (second > nowSeconds() + MAX_SECONDS_AHEAD && writer.end === null) await wait(1000, signal)
    await Promise.all(group.reverse().map((draft) => inTurn(publishOne, draft)))
  }
  return drafts.map((draft) => results.get(draft)!)
}

/** @param refusal why nothing is sent; `null` where it is */
export function closeListings(
  ids: readonly string[],
  { writer, account }: Publishing,
  refusal: string | null,
): Promise<WriteResult[]> {
  const inTurn = pLimit(WRITES_IN_FLIGHT)
  const closeOne = async (id: string): Promise<WriteResult> => {
    const write: Write = { ...updateWrite(account, id, { status: 'closed' }), action: 'close' }
    return refusal === null ? writer.write(write) : writer.skip(write, refusal)
  }
  return Promise.all(ids.map((id) => inTurn(closeOne, id)))
}

const MAX_PRINTED_LISTINGS = 20

type Target = { registry: Registry; due: readonly DraftListing[] }

/**
 * Checks the listings against the shape of each Registry that declares one.
 * @throws CliError 65, before anything is sent
 */
export async function requireValid(
  terminal: Terminal,
  client: RegistryClient,
  targets: readonly Target[],
  timeoutMs: number,
): Promise<void> {
  const findings = await Promise.all(
    targets.map(async ({ registry, due }) => {
      if (due.length === 0) return []
      const check = await fetchListingCheck(client, registry, timeoutMs).catch(checkNothing)
      const misspelt = due.flatMap((draft) =>
        check.misspelt(draft).map((message) => ({ message, id: draft.listingId })),
      )
      for (const [message, group] of Map.groupBy(misspelt, (one) => one.message))
        printWarning(terminal, `${registry.url}: ${describeIds(group.map(({ id }) => id))}: ${message}`)
      return due.flatMap((draft) => {
        const errors = check.violations(draft)
        return errors.length === 0
          ? []
          : [`[registry] ${registry.url}: ${draft.listingId}: ${errors.join('; ')}`]
      })
    }),
  )
  const invalid = findings.flat()
  if (invalid.length === 0) return
  for (const line of invalid.slice(0, MAX_PRINTED_LISTINGS)) printStatus(terminal, line)
  const rest = invalid.length - MAX_PRINTED_LISTINGS
  if (rest > 0) printStatus(terminal, `[registry] and ${rest} more that do not fit`)
  throw new CliError(
    EXIT.badData,
    'nothing is published: listings do not fit the listing shape, so filters would miss them; --force publishes them',
  )
}

/** A Registry whose shape is unknown decides when it gets the listing. */
function checkNothing(cause: unknown): ListingCheck {
  if (cause instanceof SourceError) return { violations: () => [], misspelt: () => [] }
  throw cause
}
