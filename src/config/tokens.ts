import { z } from 'zod'
import { type Token, TokenTable } from '../domain/price/token.ts'
import type { Violation } from '../errors.ts'
import { shippedFile } from './shipped-files.ts'
import { readRowFile } from './toml-file.ts'

/** An entry of a file, and where it is there. A settlement option has a mechanism and an asset in place of chain and address. */
type TokenEntry = { path: string; mechanism?: unknown; asset?: unknown } & {
  [Member in keyof Token]?: unknown
}

const MAX_TOKENS = 1000

/** The tokens of `config/tokens.toml`, for files without tokens. */
export function defaultTokens(problems: Violation[]): TokenTable {
  const kinds = { tokens: z.looseObject({}) }
  return readTokens(readRowFile(shippedFile('tokens.toml'), kinds, MAX_TOKENS, problems).tokens, problems)
}

/** Entries with a problem are left out. */
export function readTokens(entries: readonly TokenEntry[], problems: Violation[]): TokenTable {
  const complain = (path: string, message: string): void => void problems.push({ path, message })
  const tokens = new Map<string, Token>()
  if (entries.length > MAX_TOKENS) complain('tokens', `at most ${MAX_TOKENS} tokens; remove some`)
  for (const { path, ...entry } of entries.slice(0, MAX_TOKENS)) {
    const isSettled = entry.mechanism !== undefined || entry.asset !== undefined
    const { data, error } = (isSettled ? settledSchema : tokenSchema).safeParse(entry)
    if (error !== undefined) {
      const [problem] = error.issues
      complain(`${path}.${String(problem!.path[0] ?? 'mechanism')}`, problem!.message)
      continue
    }
    const { chain, address, symbol, decimals, testnet } = data
    const key = `${chain}:${address.toLowerCase()}`
    if (tokens.has(key)) complain(path, `${key} is named twice; remove one`)
    else
      tokens.set(key, {
        chain,
        address: address.toLowerCase(),
        symbol,
        decimals,
        ...(testnet && { testnet }),
      })
  }
  return new TokenTable([...tokens.values()])
}

const DECIMALS = 'expected a whole number from 0 to 36'

const name = textLike(/^[\w.-]{1,64}$/, '1 to 64 characters of A-Z, a-z, 0-9, _, . and -')

const common = {
  symbol: textLike(/^[A-Za-z0-9.$-]{1,32}$/, '1 to 32 characters of A-Z, a-z, 0-9, ., $ and -'),
  decimals: z.int(DECIMALS).min(0, DECIMALS).max(36, DECIMALS),
  testnet: z.boolean('expected true or false').default(false),
}

const tokenSchema = z.object({
  chain: name,
  address: textLike(/^0x[0-9a-f]{40}$/i, '0x and 40 hex digits'),
  ...common,
}) satisfies z.ZodType<Token>

const NOT_BOTH = 'a settlement option has mechanism and asset, and neither chain nor address'

const settledSchema = z
  .object({
    mechanism: name,
    asset: name,
    ...common,
    chain: z.undefined(NOT_BOTH).optional(),
    address: z.undefined(NOT_BOTH).optional(),
  })
  .transform(({ mechanism, asset, ...token }) => ({ ...token, chain: mechanism, address: asset }))

function textLike(pattern: RegExp, expected: string) {
  return z.string(`expected ${expected}`).regex(pattern, `expected ${expected}`)
}
