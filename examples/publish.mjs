/**
 * A seller signs a listing and publishes it. Needs viem, which is installed in this checkout; elsewhere `npm i viem`.
 *
 *     SELLER_PRIVATE_KEY=0x… node examples/publish.mjs http://127.0.0.1:8080
 *
 * WRITE_KEY in the environment is the Registry's key, if it requires one. A second run updates the listing.
 */
import { privateKeyToAccount } from 'viem/accounts'

const [registry = 'http://127.0.0.1:8080'] = process.argv.slice(2)
const { SELLER_PRIVATE_KEY, WRITE_KEY } = process.env
const seller = privateKeyToAccount(SELLER_PRIVATE_KEY)

const listing = {
  listing_id: 'example-h200-1',
  storefront_url: 'https://seller.example/',
  offer_resource: { gpu_model: 'H200', gpu_count: 8, region: 'California, US' },
  accepted_escrows: [
    {
      chain_name: 'base',
      escrow_address: '0x2b5ad5c4795c026514f8317c7a215e218dccd6cf',
      literal_fields: { token: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' },
      rates: [{ field: 'amount', per: 'hour', value: '16800000' }], // text: no digit may be lost
    },
  ],
  max_duration_seconds: 604_800,
}

// The signature (EIP-191) covers the operation, the wallet and the time; a Registry accepts it once, within five minutes.
const identifier = seller.address.toLowerCase()
const timestamp = Math.floor(Date.now() / 1000)
const signature = await seller.signMessage({ message: `create_listing:${identifier}:${timestamp}` })

const response = await fetch(`${registry}/listings`, {
  method: 'POST',
  headers: {
    'Content-Type': 'application/json',
    ...(WRITE_KEY ? { Authorization: `Bearer ${WRITE_KEY}` } : {}),
  },
  body: JSON.stringify({ ...listing, identifier, scheme: 'eip191', timestamp, signature }),
})
const answer = await response.json()
if (response.status !== 201) throw new Error(`${response.status}: ${answer.detail}`)
console.log(`published ${answer.listing_id}`, answer.warnings ?? '')
