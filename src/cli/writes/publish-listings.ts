import pLimit from 'p-limit'
import {
  nowSeconds,
  publishClaim,
  publishReceipt,
  type SignedWrite,
  type Signer,
  signedPublish,
} from '../../client/signed-write.ts'
import { type DraftListing, draftJson } from '../listing-file.ts'
import { type RegistryWriter, wait } from './registry-writer.ts'
import type { WriteResult } from './write-result.ts'

/** Per Registry. */
const WRITES_IN_FLIGHT = 4

type Publishing = { writer: RegistryWriter; wallet: Signer; signal: AbortSignal }

/** One storefront after the other, that of the last listing last. Results are in the order of the drafts. */
export async function publishListings(
  drafts: readonly DraftListing[],
  { writer, wallet, signal }: Publishing,
): Promise<WriteResult[]> {
  const inTurn = pLimit(WRITES_IN_FLIGHT)
  const signer = new PublishSigner(wallet)
  const results = new Map<DraftListing, WriteResult>()
  const publishOne = async (draft: DraftListing): Promise<void> => {
    const { listingId } = draft
    const receipt = { action: 'publish', ...publishReceipt(listingId) } as const
    results.set(draft, await writer.write({ listingId, sign: () => signer.sign(draft), receipt }))
  }
  const groups = Map.groupBy(drafts.toReversed(), ({ storefrontUrl }) => storefrontUrl)
  for (const group of [...groups.values()].reverse()) {
    signer.beginStorefront()
    while (signer.isTooFarAhead && writer.end === null) await wait(1000, signal)
    await Promise.all(group.reverse().map((draft) => inTurn(publishOne, draft)))
  }
  return drafts.map((draft) => results.get(draft)!)
}

/** Registries accept five minutes. */
const MAX_SECONDS_AHEAD = 60

/**
 * A signature covers the wallet and the second, and a Registry accepts it for one storefront only. So each
 * storefront gets a second of its own, at most a minute ahead of the clock.
 */
class PublishSigner {
  readonly #wallet: Signer
  #second = 0

  constructor(wallet: Signer) {
    this.#wallet = wallet
  }

  beginStorefront(): void {
    this.#second = Math.max(nowSeconds(), this.#second + 1)
  }

  get isTooFarAhead(): boolean {
    return this.#second > nowSeconds() + MAX_SECONDS_AHEAD
  }

  async sign(draft: DraftListing): Promise<SignedWrite> {
    this.#second = Math.max(nowSeconds(), this.#second)
    return signedPublish(draftJson(draft), await publishClaim(this.#wallet, this.#second))
  }
}
