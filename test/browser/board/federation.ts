import type { ExecutionContext } from 'ava'
import { startGateway } from '../../helpers/gateway.ts'
import { openMarket } from '../../helpers/market.ts'
import { BOB } from '../../helpers/seller.ts'

/** What a seller publishes: a machine, and a price that no double holds. */
export const machine = (id: string, offer: object, more: object = {}) => ({
  listing_id: id,
  storefront_url: 'https://alice.example/',
  offer_resource: { gpu_model: 'H200', gpu_count: 8, region: 'Tokyo, JP', ...offer },
  accepted_escrows: [
    {
      chain_name: 'base_sepolia',
      escrow_address: '0x2b5ad5c4795c026514f8317c7a215e218dccd6cf',
      literal_fields: { token: '0x036cbd53842c5426634e7929541ec2318f3dcf7e' },
      rates: [{ field: 'amount', per: 'hour', value: '123456789012345678901' }],
    },
  ],
  demands: [],
  ...more,
})

/** A gateway over two real Registries with signed listings; the second has some of what the first has. */
export async function openFederation(t: ExecutionContext) {
  const [east, west] = [await openMarket(t), await openMarket(t)]
  for (let n = 0; n < 3; n++)
    await east.publish(machine(`east-${n}`, { gpu_model: 'A100', vcpu_count: 16 * (n + 1) }))
  await east.publish(machine('shared', { gpu_count: 4 }))
  await west.publish(machine('shared', { gpu_count: 2 }))
  await east.publish(machine('clash', {}))
  await west.publish(machine('clash', {}, { storefront_url: 'https://bob.example/' }), undefined, BOB)
  await west.publish(machine('west-0', {}, { storefront_url: 'https://bob.example/' }), undefined, BOB)
  const gateway = await startGateway(t, [
    { name: 'east', url: east.url },
    { name: 'west', url: west.url },
  ])
  return { east, west, gateway }
}
