import { byCount } from '../../domain/counts.ts'
import { basisOf, isUnitWord, parseBasis } from '../../domain/price/payment-option.ts'
import type { PricePer } from '../../domain/price/price-key.ts'
import type { PriceOrder } from '../../domain/price/price-order.ts'
import type { Token, TokenTable } from '../../domain/price/token.ts'
import type { PriceLimit } from '../../domain/query.ts'
import type { OfferCount } from '../../domain/source/offer-counts.ts'

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
 * Names the groups of an order: a unit each with `tokens`, else a basis each. Units of time come first with `tokens`, then
 * those of most publishers: one seller makes any number of offers.
 * @param offers per basis
 */
export function nameGroups(offers: ReadonlyMap<string, OfferCount>, by: ByPrice): string[] {
  const groups = new Map<string, OfferCount>()
  for (const [basis, count] of offers) {
    const label = labelOf(basis, by)
    if (label === null) continue
    const sum = groups.get(label)
    groups.set(label, {
      offers: (sum?.offers ?? 0) + count.offers,
      publishers: (sum?.publishers ?? 0) + count.publishers,
    })
  }
  let bytes = 0
  const kept: string[] = []
  for (const [label] of [...groups].sort(compareGroups)) {
    const size = Buffer.byteLength(JSON.stringify(label))
    if (kept.length === MAX_GROUPS || bytes + size > MAX_LABELS_BYTES) continue
    bytes += size
    kept.push(label)
  }
  return kept
}

type Group = [label: string, count: OfferCount]

function compareGroups([a, one]: Group, [b, other]: Group): number {
  return (
    Number(b === 'hour') - Number(a === 'hour') ||
    other.publishers - one.publishers ||
    byCount([a, one.offers], [b, other.offers])
  )
}

export function orderOf(
  labels: readonly string[],
  { tokens, per, limit }: ByPrice,
  { scaleOf }: TokenTable,
): PriceOrder {
  const groups = labels.map((label) => {
    const [text, hasGpus] = readLabel(label)
    const bases = tokens?.map(({ chain, address: token }) => ({ chain, token, unit: text })) ?? [
      parseBasis(text),
    ]
    const counted = per === 'offer' ? [true, false] : [hasGpus]
    return bases.flatMap((basis) => counted.map((one) => basisOf({ ...basis, hasGpus: one })))
  })
  return { groups, per, scaleOf, max: limit?.max }
}

/** A unit with `tokens`, else a basis; `null` for what is in no group. */
function labelOf(basis: string, { tokens, per }: ByPrice): string | null {
  const parsed = parseBasis(basis)
  const { chain, token, unit, hasGpus } = parsed
  const isDivided = per === 'gb' || per === 'tflop'
  if (!isUnitWord(unit) || (isDivided && !hasGpus)) return null
  if (tokens?.some((one) => one.chain === chain && one.address === token) === false) return null
  const text = tokens === null ? basisOf({ ...parsed, hasGpus: true }) : unit
  return hasGpus || per === 'offer' ? text : `${text}${WITHOUT_GPUS}`
}

/** Prices per GPU and prices of offers without GPUs do not compare. */
const WITHOUT_GPUS = '\noffer'

function readLabel(label: string): [text: string, hasGpus: boolean] {
  const hasGpus = !label.endsWith(WITHOUT_GPUS)
  return [hasGpus ? label : label.slice(0, -WITHOUT_GPUS.length), hasGpus]
}
