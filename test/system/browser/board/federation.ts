import type { ExecutionContext } from 'ava'
import type { Page } from 'playwright-core'
import { startGateway } from '../../../helpers/gateway.ts'
import { openMarket } from '../../../helpers/market.ts'
import { BOB } from '../../../helpers/seller.ts'

const BASE_USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'

/** An accepted escrow; the token is USDC on Base, which has 6 decimals. */
export const escrow = (value: string, more: object = {}) => ({
  chain_name: 'base',
  escrow_address: '0x2b5ad5c4795c026514f8317c7a215e218dccd6cf',
  literal_fields: { token: BASE_USDC },
  rates: [{ field: 'amount', per: 'hour', value }],
  ...more,
})

/** What a seller publishes: a machine, and a price that no double holds. */
export const machine = (id: string, offer: object, more: object = {}) => ({
  listing_id: id,
  storefront_url: 'https://alice.example/',
  offer_resource: { gpu_model: 'H200', gpu_count: 8, region: 'Tokyo, JP', ...offer },
  accepted_escrows: [escrow('123456789012345678901')],
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

/** Waits until the heading above the table says this, such as `7 listings`. */
export const waitForCount = (page: Page, words: string): Promise<void> =>
  page.locator('#count').getByText(words, { exact: true }).waitFor()

export const rowsOf = (page: Page) => page.locator('.listings tbody tr')
