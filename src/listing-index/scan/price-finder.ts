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

const NONE = 0
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

type Unread = Scalar | null | undefined
type Rate = { field: Unread; value: Unread; per: Unread }
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
  readonly #columns: number
  readonly #roles: Uint8Array
  readonly #known = new Map<string, Map<string, Map<string, KnownBasis>>>()
  #knownCount = 0
  #chain: Unread
  #token: Unread
  readonly #rates: Rate[] = []
  #rateCount = 0
  #options = 0
  #bases: string[] = []
  #keys: PriceKey[] = []

  constructor(columns: readonly Path[]) {
    const numbers = new Map(columns.map((path, n) => [pathKey(path), n]))
    const paths = [...columns]
    for (const { path } of PRICE_PATHS)
      if (!numbers.has(pathKey(path))) numbers.set(pathKey(path), paths.push(path) - 1)
    this.paths = paths
    this.#columns = columns.length
    this.#roles = new Uint8Array(paths.length)
    for (const { role, path } of PRICE_PATHS) this.#roles[numbers.get(pathKey(path))!] = role
    this.exact = new Set(
      PRICE_PATHS.filter(({ role }) => role === VALUE || role === GPUS).map(
        ({ path }) => numbers.get(pathKey(path))!,
      ),
    )
  }

  /** Leaves the values of columns. */
  take(found: FoundValues): RowPrices {
    const { paths, values, count } = found
    const roles = this.#roles
    const columns = this.#columns
    this.#options = 0
    this.#bases = []
    this.#keys = []
    this.#beginEscrow()
    let gpus: Unread
    let kept = 0
    for (let n = 0; n < count; n++) {
      const path = paths[n]!
      const value = values[n]!
      const role = roles[path]!
      if (role !== NONE) {
        if (role === ESCROW) this.#endEscrow()
        else if (role === CHAIN) this.#chain = value
        else if (role === TOKEN) this.#token = value
        else if (role === GPUS) gpus = value
        else this.#addToRate(role, value)
        if (path >= columns) continue
      }
      if (kept !== n) {
        paths[kept] = path
        values[kept] = value
      }
      kept++
    }
    this.#endEscrow()
    found.count = kept
    return { gpus: gpus === null ? null : gpusOf(gpus), bases: this.#bases, keys: this.#keys }
  }

  #beginEscrow(): void {
    this.#chain = undefined
    this.#token = undefined
    this.#rateCount = 0
  }

  #addToRate(role: number, value: Scalar | null): void {
    if (role === RATE) {
      this.#rates[this.#rateCount++] = { field: undefined, value: undefined, per: undefined }
      return
    }
    const rate = this.#rates[this.#rateCount - 1]!
    if (role === FIELD) rate.field = value
    else if (role === VALUE) rate.value = value
    else rate.per = value
  }

  #endEscrow(): void {
    for (let n = 0; n < this.#rateCount && this.#options < MAX_OPTIONS; n++) this.#addOption(this.#rates[n]!)
    this.#beginEscrow()
  }

  #addOption({ field, value, per }: Rate): void {
    if (field !== undefined && field !== 'amount') return
    const known = this.#basisOf(this.#chain, this.#token, per)
    if (known === null) return
    const key = smallKey(value, known.perWeek) ?? this.#largeKey(value, per)
    if (key === null) return
    this.#options++
    const at = this.#bases.indexOf(known.basis)
    if (at === -1) {
      this.#bases.push(known.basis)
      this.#keys.push(key)
    } else if (key < this.#keys[at]!) this.#keys[at] = key
  }

  #largeKey(value: Unread, per: Unread): PriceKey | null {
    const option = paymentOption({ chain: this.#chain, token: this.#token, value, per })
    return option === null ? null : priceKey(option, 1, 'offer')
  }

  #basisOf(chain: Unread, token: Unread, per: Unread): KnownBasis | null {
    if (typeof chain !== 'string' || typeof token !== 'string' || typeof per !== 'string') return null
    return this.#known.get(chain)?.get(token)?.get(per) ?? this.#newBasis(chain, token, per)
  }

  #newBasis(chain: string, token: string, per: string): KnownBasis | null {
    const option = paymentOption({ chain, token, value: 1, per })
    if (option === null) return null
    const known = { basis: basisOf(option), perWeek: Number(weeklyValue(option)) }
    if (this.#knownCount++ === MAX_KNOWN) {
      this.#known.clear()
      this.#knownCount = 1
    }
    const tokens = this.#known.get(chain) ?? new Map<string, Map<string, KnownBasis>>()
    const pers = tokens.get(token) ?? new Map<string, KnownBasis>()
    this.#known.set(chain, tokens.set(token, pers.set(per, known)))
    return known
  }
}

/** `null` unless the value is a short text of digits and the key fits a double. */
function smallKey(value: Unread, perWeek: number): number | null {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_SMALL_DIGITS) return null
  let amount = 0
  for (let n = 0; n < value.length; n++) {
    const digit = value.charCodeAt(n) - ZERO
    if (digit < 0 || digit > 9) return null
    amount = amount * 10 + digit
  }
  return smallOfferKey(amount, perWeek)
}
