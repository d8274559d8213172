import { EntrepotError } from '../../errors.ts'
import type { PriceLimit } from '../query.ts'
import { PRICE_PERS, type PricePer, parseAmount, scaleKey } from './price-key.ts'
import type { Token, TokenTable } from './token.ts'

export const SORTS = ['newest', 'price'] as const
export type Sort = (typeof SORTS)[number]

export const PRICE_PARAMETERS = ['sort', 'price_token', 'price_max', 'price_per', 'testnet'] as const
type Parameter = (typeof PRICE_PARAMETERS)[number]

/** As given; an empty text counts as absent. */
export type PriceTexts = { readonly [Name in Parameter]?: string | undefined }

export type PriceQuestion = {
  sort: Sort
  /** `null`: all tokens, each by itself. */
  tokens: readonly Token[] | null
  per: PricePer
  limit: PriceLimit | undefined
}

type Options = {
  /** What readers call a parameter, for messages. */
  nameOf?: (parameter: Parameter) => string
  /** Whether `price_per` has a meaning of its own, without an order or a ceiling. */
  countsPrices?: boolean
}

/**
 * @throws EntrepotError `bad_request` for an unknown token, order or unit, a malformed amount, and for a parameter that
 * would have no effect
 */
export function parsePriceQuestion(
  table: TokenTable,
  texts: PriceTexts,
  { nameOf = (parameter) => parameter, countsPrices = false }: Options = {},
): PriceQuestion {
  const refuse = (parameter: Parameter, problem: string): never => {
    throw new EntrepotError('bad_request', `${nameOf(parameter)}: ${problem}`)
  }
  const choice = <T extends string>(parameter: Parameter, choices: readonly [T, ...T[]]): T => {
    const text = texts[parameter] || choices[0]
    return (
      choices.find((one) => one === text) ??
      refuse(parameter, `expected ${alternatives(choices)}, got ${JSON.stringify(text)}`)
    )
  }

  const sort = choice('sort', SORTS)
  const per = choice('price_per', PRICE_PERS)
  // Where a ceiling names no token, the first one is meant that is worth something.
  const text = texts.price_token || (texts.price_max && table.first?.symbol)
  const testnet = choice('testnet', ['false', 'true']) === 'true'
  if (testnet && !text) refuse('testnet', `has no effect without ${nameOf('price_token')}`)
  const tokens = text ? table.named(text, testnet) : null
  if (tokens?.length === 0 && table.named(text!, true).length > 0)
    refuse(
      'price_token',
      `${JSON.stringify(text)} is on test networks only, and worth nothing; add ${nameOf('testnet')}=true`,
    )
  if (tokens?.length === 0) refuse('price_token', `there is no token ${JSON.stringify(text)}: ${table.names}`)
  const isCompared = sort === 'price' || Boolean(texts.price_max)
  const needs = `has no effect without ${nameOf('sort')}=price or ${nameOf('price_max')}`
  if (tokens !== null && !isCompared) refuse('price_token', needs)
  if (texts.price_per && !isCompared && !countsPrices) refuse('price_per', needs)
  if (!texts.price_max) return { sort, tokens, per, limit: undefined }
  if (tokens === null)
    return refuse('price_max', `needs ${nameOf('price_token')}, the token of the amount: ${table.names}`)
  const decimals = Math.max(...tokens.map((token) => token.decimals))
  const max =
    parseAmount(texts.price_max, decimals) ??
    refuse(
      'price_max',
      `expected an amount such as 2.10 with at most ${decimals} decimals, got ${JSON.stringify(texts.price_max)}`,
    )
  const scale = 10n ** BigInt(table.decimalsOf(tokens[0]!.symbol) - decimals)
  const { scaleOf } = table
  return { sort, tokens, per, limit: { tokens, per, max: scaleKey(max, scale), ...(scaleOf && { scaleOf }) } }
}

/** `a or b`, `a, b or c`. */
const alternatives = (choices: readonly string[]): string =>
  [choices.slice(0, -1).join(', '), choices.at(-1)].join(' or ')
