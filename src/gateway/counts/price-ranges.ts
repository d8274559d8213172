import { addTo, byCount, mapIn } from '../../domain/counts.ts'
import { isUnitWord, parseBasis } from '../../domain/price/payment-option.ts'
import { formatAmount, type PriceKey } from '../../domain/price/price-key.ts'
import { TokenTable } from '../../domain/price/token.ts'
import type { PriceCounts } from '../../domain/source/selection.ts'
import { addPriceCounts } from '../../listing-index/key-union.ts'
import type { PriceRangeJson } from '../../wire/facets.ts'
import { type Counting, countLeastGpus, type Outliers } from './count-outliers.ts'

const MAX_PRICES = 32

/** What the counts say of each group of prices, less the outliers. */
export function rangesOf(
  counting: Counting,
  counts: ReadonlyMap<string, PriceCounts>,
  outliers: Outliers,
): PriceRangeJson[] {
  const { per } = counting.prices
  const { tokens } = counting.settings
  const chains = countChains(counting)
  return [...counts]
    .map(([group, counts]): GroupCounts => {
      const low = outliers.prices.get(group)
      return [group, low === undefined ? counts : addPriceCounts(counts, low, -1)]
    })
    .filter(([group, { offers }]) => offers > 0 && isUnitWord(tokenOf(group, tokens).unit))
    .sort((a, b) => rankOf(a) - rankOf(b) || byOffers(a, b))
    .slice(0, MAX_PRICES)
    .map(([group, { offers, gpus, keys, counts }]) => {
      const { decimals = null, hasGpus, chain, ...token } = tokenOf(group, tokens)
      const onChains =
        chain === undefined ? [...(chains.get(group) ?? [])].sort(byCount) : [[chain, offers] as const]
      const gpusAtLeast = token.symbol === undefined ? null : countLeastGpus(counting, group, keys[0]!)
      const amount = (key: PriceKey): string => formatAmount(key, decimals)
      return {
        ...token,
        chains: onChains.map(([chain, offers]) => ({ chain, offers })),
        ...(decimals !== null && { decimals }),
        price_per: per === 'gpu' && !hasGpus ? 'offer' : per,
        offers,
        ...(outliers.prices.has(group) && { outliers: outliers.prices.get(group)!.offers }),
        gpus,
        least: amount(keys[0]!),
        ...(gpusAtLeast !== null && { least_gpus: gpusAtLeast }),
        median: amount(medianOf(keys, counts, offers)),
        most: amount(keys.at(-1)!),
      }
    })
}

/** Offers by chain, of each group of prices in known tokens. */
function countChains({ matches, prices: { groupOf }, settings: { tokens } }: Counting) {
  const byGroup = new Map<string, Map<string, number>>()
  for (const [basis, { offers }] of matches.offers(tokens.all))
    addTo(mapIn(byGroup, groupOf(basis)), parseBasis(basis).chain, offers)
  return byGroup
}

type GroupCounts = [group: string, counts: PriceCounts]

function byOffers([a, one]: GroupCounts, [b, other]: GroupCounts): number {
  return other.offers - one.offers || (a < b ? -1 : 1)
}

/** Prices by the hour in a symbol that is worth something first, so that made-up units and tokens displace none of these. */
const RANKS = { money: 0, testnet: 1, other: 2 } as const

function rankOf([group]: GroupCounts): number {
  const read = TokenTable.readGroup(group)
  if ('basis' in read || read.unit !== 'hour') return RANKS.other
  return read.testnet ? RANKS.testnet : RANKS.money
}

type TokenOfPrices = Pick<PriceRangeJson, 'symbol' | 'testnet' | 'token' | 'decimals' | 'unit'> & {
  /** Of a token that is not known. */
  chain?: string
  hasGpus: boolean
}

function tokenOf(group: string, tokens: TokenTable): TokenOfPrices {
  const read = TokenTable.readGroup(group)
  if ('basis' in read) {
    const { chain, token, unit, hasGpus } = parseBasis(read.basis)
    return { chain, token, unit, hasGpus }
  }
  const { symbol, testnet, unit, hasGpus } = read
  return {
    symbol,
    ...(testnet && { testnet: true }),
    decimals: tokens.decimalsOf(symbol),
    unit,
    hasGpus,
  }
}

/** The lower one of two. */
function medianOf(keys: readonly PriceKey[], counts: readonly number[], offers: number): PriceKey {
  let left = Math.ceil(offers / 2)
  const n = counts.findIndex((count) => {
    left -= count
    return left <= 0
  })
  return keys[n]!
}
