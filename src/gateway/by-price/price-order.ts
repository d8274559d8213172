import { basisOf, parseBasis } from '../../domain/price/payment-option.ts'
import type { PricePer } from '../../domain/price/price-key.ts'
import type { Token } from '../../domain/price/token.ts'
import type { PriceLimit } from '../../domain/query.ts'
import { addTo, byCount } from '../../domain/source/facet-counter.ts'
import type { PriceOrder } from '../../domain/source/selection.ts'

/** `sort=price`. `tokens`: `null` for all, which compare per token. */
export type ByPrice = {
  tokens: readonly Token[] | null
  per: PricePer
  /** Of the same tokens: a higher price does not compare. */
  limit?: PriceLimit | undefined
}

const MAX_GROUPS = 32
/** Of all labels: a cursor carries them. */
const MAX_LABELS_BYTES = 4096

/**
 * Names the groups of an order, most offers first: a unit each with `tokens`, else a basis each.
 * @param offers per basis, of each source
 */
export function nameGroups(offers: readonly ReadonlyMap<string, number>[], { tokens }: ByPrice): string[] {
  const counts = new Map<string, number>()
  for (const source of offers)
    for (const [basis, count] of source) {
      const label = labelOf(basis, tokens)
      if (label !== null) addTo(counts, label, count)
    }
  const labels = [...counts].sort(byCount).slice(0, MAX_GROUPS)
  let bytes = 0
  const kept: string[] = []
  for (const [label] of labels) {
    bytes += Buffer.byteLength(JSON.stringify(label))
    if (bytes > MAX_LABELS_BYTES) break
    kept.push(label)
  }
  return kept
}

export function orderOf(labels: readonly string[], { tokens, per, limit }: ByPrice): PriceOrder {
  const groups = labels.map((label) =>
    tokens === null
      ? [label]
      : tokens.map(({ chain, address }) => basisOf({ chain, token: address, unit: label })),
  )
  return { groups, per, max: limit?.max }
}

function labelOf(basis: string, tokens: readonly Token[] | null): string | null {
  if (tokens === null) return basis
  const { chain, token, unit } = parseBasis(basis)
  return tokens.some((one) => one.chain === chain && one.address === token) ? unit : null
}
