import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { createClient } from '../src/client/client.ts'
import { API_CREDIT_EXAMPLES, generateOffers, type Offer, VM_EXAMPLES } from './offers.ts'

export const REGISTRY_NAMES = ['open-market', 'curated', 'co-located'] as const
export type RegistryName = (typeof REGISTRY_NAMES)[number]

/**
 * Publishes the demo's listings and resolves with their number. Their wallets are generated and not kept. Each example has
 * its own seller, since a storefront URL belongs to one publisher; the generated listings share three. What has no price in
 * money is the oldest, so that pages begin with prices.
 * @param registries their URLs
 * @param key opens the curated one
 */
export async function fillMarket(
  registries: Readonly<Record<RegistryName, string>>,
  key: string,
): Promise<number> {
  const newSeller = () => privateKeyToAccount(generatePrivateKey())
  const { 'open-market': open, curated, 'co-located': colocated } = registries
  const [bob, alice, tokyo] = VM_EXAMPLES as [Offer, Offer, Offer]
  const [weather, ocr, llm] = API_CREDIT_EXAMPLES as [Offer, Offer, Offer]
  const bobsWallet = newSeller()
  const publishAll = async ([account, registry, offers]: Stall): Promise<void> => {
    const client = createClient({ url: registry, apiKey: registry === curated ? key : null, account })
    for (const offer of offers) await client.publish(offer)
  }
  const generated: Stall[] = [
    [newSeller(), open, generateOffers('spot', 170, 'cloud')],
    [newSeller(), curated, generateOffers('vetted', 100, 'data sheet')],
    [newSeller(), colocated, generateOffers('house', 40)],
  ]
  const unpriced: Stall[] = [
    [newSeller(), open, [alice]],
    [newSeller(), curated, [tokyo]],
    [newSeller(), open, [weather]],
    [newSeller(), curated, [ocr]],
    [newSeller(), colocated, [llm]],
  ]
  const latest: Stall[] = [
    [bobsWallet, open, [bob]],
    [bobsWallet, curated, [bob]],
  ]
  for (const stall of unpriced) await publishAll(stall)
  await Promise.all(generated.map(publishAll))
  for (const stall of latest) await publishAll(stall)
  return [...unpriced, ...generated, ...latest].reduce((sum, [, , offers]) => sum + offers.length, 0)
}

type Stall = [seller: PrivateKeyAccount, registry: string, offers: readonly Offer[]]
