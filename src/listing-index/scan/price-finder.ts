import {
  basisOf,
  gpusOf,
  MAX_OPTIONS,
  paymentOption,
  weeklyValue,
} from '../../domain/price/payment-option.ts'
import { type PriceKey, priceKey, smallOfferKey } from '../../domain/price/price-key.ts'
import type { Scalar } from '../../filter-spec/criteria.ts'
import { compilePath, type Path, pathKey } from '../../filter-spec/path.ts'
import type { RowPrices } from '../row-prices.ts'
import type { FoundValues } from './row-scanner.ts'

const ESCROW = 1
const CHAIN = 2
const TOKEN = 3
const RATE = 4
const FIELD = 5
const VALUE = 6
const PER = 7
const GPUS = 8

/** Values come in the order of the text, so those of an escrow follow its own entry, and those of a rate too. */
const PRICE_PATHS = (
  [
    [ESCROW, '$.accepted_escrows[*]'],
    [CHAIN, '$.accepted_escrows[*].chain_name'],
    [TOKEN, '$.accepted_escrows[*].literal_fields.token'],
    [RATE, '$.accepted_escrows[*].rates[*]'],
    [FIELD, '$.accepted_escrows[*].rates[*].field'],
    [VALUE, '$.accepted_escrows[*].rates[*].value'],
    [PER, '$.accepted_escrows[*].rates[*].per'],
    [GPUS, '$.offer_resource.gpu_count'],
  ] as const
).map(([role, text]) => ({ role, path: compilePath(text) }))

type Found = Scalar | null | undefined
type Rate = { field: Found; value: Found; per: Found }
type Escrow = { chain: Found; token: Found; rates: Rate[] }
type KnownBasis = { basis: string; perWeek: number }

/** Of names that sellers choose. */
const MAX_KNOWN = 4096
const MAX_SMALL_DIGITS = 15
const ZERO = 0x30

/** Takes prices out of what a scan finds, exactly as `lowestPrices` does of the document. */
export class PriceFinder {
  /** The columns' paths, and behind them those that only prices need. */
  readonly paths: readonly Path[]
  /** Numbers of paths whose `true` is not the number 1. */
  readonly exact: ReadonlySet<number>
  readonly #roles: Uint8Array
  readonly #known = new Map<string, KnownBasis>()

  constructor(columns: readonly Path[]) {
    const all = new Map(
      [...columns, ...PRICE_PATHS.map(({ path }) => path)].map((path) => [pathKey(path), path]),
    )
    const numbers = new Map([...all.keys()].map((key, n) => [key, n]))
    const numberOf = (path: Path): number => numbers.get(pathKey(path))!
    this.paths = [...all.values()]
    this.#roles = new Uint8Array(all.size)
    for (const { role, path } of PRICE_PATHS) this.#roles[numberOf(path)] = role
    const exact = PRICE_PATHS.filter(({ role }) => role === VALUE || role === GPUS)
    this.exact = new Set(exact.map(({ path }) => numberOf(path)))
  }

  pricesIn({ paths, values, count }: FoundValues): RowPrices {
    const escrows: Escrow[] = []
    let escrow: Escrow
    let rate: Rate
    let gpus: Found
    for (let n = 0; n < count; n++) {
      const value = values[n]
      switch (this.#roles[paths[n]!]) {
        case ESCROW:
          escrow = { chain: undefined, token: undefined, rates: [] }
          escrows.push(escrow)
          break
        case CHAIN:
          escrow!.chain = value
          break
        case TOKEN:
          escrow!.token = value
          break
        case RATE:
          rate = { field: undefined, value: undefined, per: undefined }
          escrow!.rates.push(rate)
          break
        case FIELD:
          rate!.field = value
          break
        case VALUE:
          rate!.value = value
          break
        case PER:
          rate!.per = value
          break
        case GPUS:
          gpus = value
      }
    }
    return { gpus: gpus === null ? null : gpusOf(gpus), ...this.#lowest(escrows) }
  }

  #lowest(escrows: readonly Escrow[]): Pick<RowPrices, 'bases' | 'keys'> {
    const bases: string[] = []
    const keys: PriceKey[] = []
    let options = 0
    for (const { chain, token, rates } of escrows)
      for (const { field, value, per } of rates) {
        const known = field === undefined || field === 'amount' ? this.#basisOf(chain, token, per) : null
        const key = known && (smallKey(value, known.perWeek) ?? largeKey({ chain, token, value, per }))
        if (known === null || key === null || options++ >= MAX_OPTIONS) continue
        const at = bases.indexOf(known.basis)
        if (at === -1) {
          bases.push(known.basis)
          keys.push(key)
        } else if (key < keys[at]!) keys[at] = key
      }
    return { bases, keys }
  }

  /** `null` for what is no name. */
  #basisOf(chain: Found, token: Found, per: Found): KnownBasis | null {
    if (typeof chain !== 'string' || typeof token !== 'string' || typeof per !== 'string') return null
    const name = `${chain}\n${token}\n${per}`
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const option = paymentOption({ chain, token, value: 1, per })
    if (option === null) return null
    if (this.#known.size === MAX_KNOWN) this.#known.clear()
    const basis = { basis: basisOf(option), perWeek: Number(weeklyValue(option)) }
    this.#known.set(name, basis)
    return basis
  }
}

function largeKey(option: Record<string, Found>): PriceKey | null {
  const read = paymentOption(option)
  return read === null ? null : priceKey(read, 1, 'offer')
}

/** `null` unless the value is a short text of digits and the key fits a double. */
function smallKey(value: Found, perWeek: number): number | null {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_SMALL_DIGITS) return null
  let amount = 0
  for (let n = 0; n < value.length; n++) {
    const digit = value.charCodeAt(n) - ZERO
    if (digit < 0 || digit > 9) return null
    amount = amount * 10 + digit
  }
  return smallOfferKey(amount, perWeek)
}
