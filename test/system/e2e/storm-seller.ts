import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { publishClaim } from '../../../src/client/signed-write.ts'

/** Its publishes of one second share their signature. */
export class StormSeller {
  readonly #wallet = privateKeyToAccount(generatePrivateKey())
  readonly url = `https://${this.#wallet.address.toLowerCase()}.example/`

  async sign(timestamp: number) {
    return { ...(await publishClaim(this.#wallet, timestamp)), storefront_url: this.url }
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
