import { basisOf, parseBasis } from './payment-option.ts'
import type { PricePer, ScaleOf } from './price-key.ts'

/** From the operator's or the buyer's file, never from a listing. */
export type Token = {
  chain: string
  /** Lower-case. */
  address: string
  symbol: string
  decimals: number
  /** Whether it is worth nothing: of a test network. */
  testnet?: boolean
}

/** Which prices count as one: over all chains of a symbol, with those of test networks apart, else by basis. */
type PriceGroup = { symbol: string; testnet: boolean; unit: string; hasGpus: boolean } | { basis: string }

const MAX_NAMED = 50

/** The tokens that a file names. Tokens of one symbol may have other decimals on other chains. */
export class TokenTable {
  readonly all: readonly Token[]
  /** By symbol: the most of its tokens. Prices in one symbol compare in these. */
  readonly #decimals = new Map<string, number>()
  /** Absent where all tokens of each symbol have the same decimals. */
  readonly scaleOf?: ScaleOf
  readonly #byAddress: ReadonlyMap<string, Token>

  constructor(tokens: readonly Token[]) {
    this.all = tokens
    this.#byAddress = new Map(tokens.map((token) => [`${token.chain}:${token.address}`, token]))
    for (const { symbol, decimals } of tokens) {
      const known = this.#decimals.get(symbol.toLowerCase()) ?? decimals
      this.#decimals.set(symbol.toLowerCase(), Math.max(decimals, known))
    }
    const isMixed = tokens.some(({ symbol, decimals }) => decimals !== this.decimalsOf(symbol))
    if (isMixed) this.scaleOf = (basis) => this.#scaleOf(basis)
  }

  /** The first that is worth something, else the first. */
  get first(): Token | undefined {
    return this.all.find(({ testnet }) => testnet !== true) ?? this.all[0]
  }

  /** The symbol that cheapest first is in where none is named; none where every token is of a test network. */
  get usual(): string | undefined {
    return this.first?.testnet === true ? undefined : this.first?.symbol
  }

  /** In which prices of that symbol compare. */
  decimalsOf(symbol: string): number {
    return this.#decimals.get(symbol.toLowerCase())!
  }

  #scaleOf(basis: string): bigint {
    const { chain, token } = parseBasis(basis)
    const known = this.find(chain, token)
    return known === null ? 1n : 10n ** BigInt(this.decimalsOf(known.symbol) - known.decimals)
  }

  /** For messages. */
  get names(): string {
    const names = [...new Set(this.all.map((token) => `${token.chain}:${token.symbol}`))]
    if (names.length === 0) return 'no token is known here'
    const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
    return `known are ${names.slice(0, MAX_NAMED).join(', ')}${more}`
  }

  /** @param address in any case */
  find(chain: string, address: string): Token | null {
    return this.#byAddress.get(`${chain}:${address.toLowerCase()}`) ?? null
  }

  /**
   * Those that `text` names: `USDC` on every chain, `base:USDC`, or `base:0x8335…`. Symbols compare in any case. Without a chain
   * those of test networks count only with `isTestnet`.
   */
  named(text: string, isTestnet = false): readonly Token[] {
    const [, chain, name = ''] = /^(?:([^:]*):)?(.*)$/s.exec(text)!
    const lowerName = name.toLowerCase()
    if (chain === undefined)
      return this.all.filter(
        ({ symbol, testnet }) => symbol.toLowerCase() === lowerName && (isTestnet || !testnet),
      )
    return this.all.filter(
      (token) =>
        token.chain === chain && (token.symbol.toLowerCase() === lowerName || token.address === lowerName),
    )
  }

  /**
   * Names the group of the prices of a basis, as a text that is no basis. Prices per GPU have a group apart from those of
   * offers without GPUs. The same function each time.
   */
  groupingOf(per: PricePer): (basis: string) => string {
    return per === 'offer' ? this.#groupOfOffers : this.#groupOf
  }

  readonly #groupOf = (basis: string): string => this.#nameGroup(parseBasis(basis))

  readonly #groupOfOffers = (basis: string): string =>
    this.#nameGroup({ ...parseBasis(basis), hasGpus: true })

  #nameGroup(basis: ReturnType<typeof parseBasis>): string {
    const { chain, token, unit, hasGpus } = basis
    const known = this.find(chain, token)
    if (known === null) return basisOf(basis)
    return `\n${known.symbol}\n${known.testnet === true ? 'testnet' : ''}\n${unit}${hasGpus ? '' : '\noffer'}`
  }

  /** What such a text says. */
  static readGroup(group: string): PriceGroup {
    if (!group.startsWith('\n')) return { basis: group }
    const [, symbol = '', network = '', unit = '', whole = ''] = group.split('\n')
    return { symbol, testnet: network !== '', unit, hasGpus: whole === '' }
  }
}
