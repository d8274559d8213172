import type { PrivateKeyAccount } from 'viem/accounts'
import { signedMessage } from '../src/domain/signed-message.ts'
import type { Offer } from './offers.ts'

/** A wallet that publishes like a storefront of the deployed protocol. */
export class Seller {
  readonly #wallet: PrivateKeyAccount
  #signed: { timestamp: number; signature: Promise<string> } | null = null

  constructor(wallet: PrivateKeyAccount) {
    this.#wallet = wallet
  }

  /** @throws Error if the Registry refuses */
  async publish(registry: string, offer: Offer, key: string | null): Promise<void> {
    const identifier = this.#wallet.address.toLowerCase()
    const { timestamp, signature } = this.#sign(identifier)
    const response = await fetch(`${registry}/listings`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({ ...offer, scheme: 'eip191', identifier, timestamp, signature: await signature }),
    })
    if (response.status !== 201)
      throw new Error(`${registry} refused ${offer.listing_id}: ${response.status} ${await response.text()}`)
    await response.body?.cancel()
  }

  /** One signature a second is enough: the message names the wallet and the time, not the listing. */
  #sign(identifier: string): { timestamp: number; signature: Promise<string> } {
    const timestamp = Math.floor(Date.now() / 1000)
    if (this.#signed?.timestamp !== timestamp) {
      const signature = this.#wallet.signMessage({
        message: signedMessage('create_listing', identifier, timestamp),
      })
      this.#signed = { timestamp, signature }
    }
    return this.#signed
  }
}
