import { countedSizes, type PricePer } from '../../src/domain/price/price-key.ts'
import type { PriceGrouping } from '../../src/domain/price/price-order.ts'

const groupOf = (basis: string): string => basis

/** Each basis by itself. */
export const byBasis = (per: PricePer): PriceGrouping => ({ per, groupOf, sizesOf: countedSizes })
