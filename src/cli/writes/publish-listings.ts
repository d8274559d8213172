import pLimit from 'p-limit'
import type { DraftListing } from '../listing-file.ts'
import { endpointUrl, readJsonObject } from '../registries/registry-client.ts'
import type { Registry } from '../registries/select-registries.ts'
import { nowSeconds, type Wallet } from '../signing/wallet.ts'
import { type RegistryWriter, type Signed, wait } from './registry-writer.ts'
import type { WriteReceipt, WriteResult } from './write-result.ts'

/** Per Registry. */
const WRITES_IN_FLIGHT = 4

type Publishing = { registry: Registry; writer: RegistryWriter; wallet: Wallet; signal: AbortSignal }

/** One storefront after the other, that of the last listing last. Results are in the order of the drafts. */
export async function publishListings(
  drafts: readonly DraftListing[],
  { registry, writer, wallet, signal }: Publishing,
): Promise<WriteResult[]> {
  const inTurn = pLimit(WRITES_IN_FLIGHT)
  const signer = new PublishSigner(wallet)
  const url = endpointUrl(registry, '/listings')
  const results = new Map<DraftListing, WriteResult>()
  const publishOne = async (draft: DraftListing): Promise<void> => {
    const { listingId } = draft
    const receipt: WriteReceipt = {
      action: 'publish',
      expected: '201 with the listing_id',
      isReceipt: (response) => response.status === 201 && readJsonObject(response).listing_id === listingId,
    }
    results.set(draft, await writer.write({ listingId, sign: () => signer.sign(draft, url), receipt }))
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
  readonly #wallet: Wallet
  #second = 0
  #signature: Promise<string> | null = null

  constructor(wallet: Wallet) {
    this.#wallet = wallet
  }

  beginStorefront(): void {
    this.#use(Math.max(nowSeconds(), this.#second + 1))
  }

  get isTooFarAhead(): boolean {
    return this.#second > nowSeconds() + MAX_SECONDS_AHEAD
  }

  async sign({ members }: DraftListing, url: string): Promise<Signed> {
    this.#use(Math.max(nowSeconds(), this.#second))
    const { address } = this.#wallet
    const timestamp = this.#second
    this.#signature ??= this.#wallet.sign('create_listing', address, timestamp)
    const claim = { scheme: 'eip191', identifier: address, timestamp, signature: await this.#signature }
    const listed = [...members].map(([name, text]) => `${JSON.stringify(name)}:${text},`).join('')
    return {
      timestamp,
      request: { method: 'POST', url, body: `{${listed}${JSON.stringify(claim).slice(1)}` },
    }
  }

  #use(second: number): void {
    if (second !== this.#second) this.#signature = null
    this.#second = second
  }
}
