import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { API_CREDIT_EXAMPLES, generateOffers, type Offer, VM_EXAMPLES } from './offers.ts'
import { Seller } from './seller.ts'

export const REGISTRY_NAMES = ['open-market', 'curated', 'co-located'] as const
export type RegistryName = (typeof REGISTRY_NAMES)[number]

/**
 * Publishes the demo's listings, signed by sellers who are forgotten behind it; resolves with how many. Each example has
 * a seller of its own, since a storefront URL is its publisher's; the generated ones share three.
 * @param registries their URLs
 * @param key opens the curated one
 */
export async function fillMarket(
  registries: Readonly<Record<RegistryName, string>>,
  key: string,
): Promise<number> {
  const throwaway = (): Seller => new Seller(privateKeyToAccount(generatePrivateKey()))
  const { 'open-market': open, curated, 'co-located': colocated } = registries
  const [bob, alice, tokyo] = VM_EXAMPLES as [Offer, Offer, Offer]
  const [weather, ocr, llm] = API_CREDIT_EXAMPLES as [Offer, Offer, Offer]
  const bobsWallet = throwaway()
  const publishAll = async ([seller, registry, offers]: Stall): Promise<void> => {
    for (const offer of offers) await seller.publish(registry, offer, registry === curated ? key : null)
  }
  const crowd: Stall[] = [
    [throwaway(), open, generateOffers('spot', 170)],
    [throwaway(), curated, generateOffers('vetted', 100)],
    [throwaway(), colocated, generateOffers('house', 40)],
  ]
  await Promise.all(crowd.map(publishAll))
  const examples: Stall[] = [
    [bobsWallet, open, [bob]],
    [bobsWallet, curated, [bob]],
    [throwaway(), open, [alice]],
    [throwaway(), curated, [tokyo]],
    [throwaway(), open, [weather]],
    [throwaway(), curated, [ocr]],
    [throwaway(), colocated, [llm]],
  ]
  for (const stall of examples) await publishAll(stall)
  return [...crowd, ...examples].reduce((sum, [, , offers]) => sum + offers.length, 0)
}

type Stall = [seller: Seller, registry: string, offers: readonly Offer[]]
