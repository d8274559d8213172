import type { PricePer } from '../../../domain/price/price-key.ts'
import type { FacetsJson } from '../../../wire/facets.ts'

/** Prices in one symbol and unit over all chains, or in one token that the gateway does not know. */
export type PriceRow = {
  symbol?: string | undefined
  testnet?: boolean | undefined
  unit: string
  price_per: PricePer
  chains: readonly { chain: string }[]
  token?: string | undefined
  offers: number
  /** Left out, since they are far below the median of their model. */
  outliers?: number | undefined
  least: string
  median: string
  most: string
}

type ValuePrices = { value: string; count: number; prices?: readonly PriceRow[] | undefined }

/** What a market costs, and what that is of. */
export type MarketPrices = {
  /** Most offers first. */
  rows: readonly PriceRow[]
  /** Over all that match, apart from prices; `null` where the gateway does not count them. */
  gpus: number | null
  /** One sentence with what it rests on. */
  summary: string | null
  /** By the model that is read. */
  models: readonly ValuePrices[]
  /** Listings whose model is not known. */
  unknownModels: number
  /** Listings whose price is too low to be meant: no row counts it. */
  outliers: number
}

export const NO_PRICES: MarketPrices = {
  rows: [],
  gpus: null,
  summary: null,
  models: [],
  unknownModels: 0,
  outliers: 0,
}

type Answer = Omit<FacetsJson, 'facets'> & {
  gpus?: number | undefined
  summary?: string | undefined
  facets: Readonly<Record<string, { values: readonly ValuePrices[]; missing: number }>>
}

/** @param whole the answer of `/facets` to the whole query @param byModel the one that has models */
export function readMarketPrices(whole: FacetsJson, byModel: FacetsJson): MarketPrices {
  const { prices, gpus, summary, outliers }: Answer = whole
  const { facets }: Answer = byModel
  return {
    rows: prices,
    gpus: gpus ?? null,
    summary: summary ?? null,
    models: facets.gpu?.values ?? [],
    unknownModels: facets.gpu?.missing ?? 0,
    outliers: outliers ?? 0,
  }
}

/** That of most offers in a known token that is worth something, else the first. */
export const leadingRow = (rows: readonly PriceRow[]): PriceRow | undefined =>
  rows.find(({ symbol, testnet }) => symbol !== undefined && testnet !== true) ?? rows[0]

export const isSameKind = (a: PriceRow, b: PriceRow): boolean =>
  a.symbol === b.symbol && a.token === b.token && a.unit === b.unit && a.testnet === b.testnet
