import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { signedMessage } from '../../src/domain/signed-message.ts'

/** A wallet that signs once for a timestamp: publishes of one second share their signature. */
export class StormSeller {
  readonly #wallet = privateKeyToAccount(generatePrivateKey())
  readonly #signatures = new Map<number, Promise<string>>()
  readonly url = `https://${this.#wallet.address.toLowerCase()}.example/`

  async sign(timestamp: number) {
    const identifier = this.#wallet.address.toLowerCase()
    const message = signedMessage('create_listing', identifier, timestamp)
    const signature = this.#signatures.get(timestamp) ?? this.#wallet.signMessage({ message })
    this.#signatures.set(timestamp, signature)
    return { identifier, timestamp, signature: await signature, storefront_url: this.url }
  }
}

/** The version determines the listing, and can be read from it. */
export const contentOf = (id: string, version: number) => ({
  listing_id: id,
  offer_resource: { resource_id: id, gpu_count: version, note: `${id} ${version} `.repeat(version % 100) },
  accepted_escrows: Array.from({ length: version % 4 }, (_, n) => ({ rates: [{ value: `${version}${n}` }] })),
  max_duration_seconds: version,
  status: version % 3 === 0 ? 'closed' : 'open',
})
