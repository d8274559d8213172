/** From the operator's or the buyer's file, never from a listing. */
export type Token = {
  chain: string
  /** Lower-case. */
  address: string
  symbol: string
  decimals: number
}

const MAX_NAMED = 50

/** The tokens that a file names. Tokens of one symbol have the same decimals. */
export class TokenTable {
  readonly all: readonly Token[]
  readonly #byAddress: ReadonlyMap<string, Token>

  constructor(tokens: readonly Token[]) {
    this.all = tokens
    this.#byAddress = new Map(tokens.map((token) => [`${token.chain}:${token.address}`, token]))
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

  /** Those that `text` names: `USDC` on every chain, `base:USDC`, or `base:0x8335…`. Symbols compare in any case. */
  named(text: string): readonly Token[] {
    const [, chain, name = ''] = /^(?:([^:]*):)?(.*)$/s.exec(text)!
    const lowerName = name.toLowerCase()
    return this.all.filter(
      (token) =>
        (chain === undefined || token.chain === chain) &&
        (token.symbol.toLowerCase() === lowerName || (chain !== undefined && token.address === lowerName)),
    )
  }
}
