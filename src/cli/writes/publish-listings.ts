import pLimit from 'p-limit'
import { nowSeconds, publishWrite, updateWrite } from '../../client/signed-write.ts'
import { type DraftListing, draftJson } from '../listing-file.ts'
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
