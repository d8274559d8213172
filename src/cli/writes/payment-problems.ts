import { nearestName, suggestName } from '../../domain/nearest-name.ts'
import { type PaymentOption, paymentOptions, TIME_UNITS } from '../../domain/price/payment-option.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { at, formatJson, isJsonObject, type JsonValue, listAt, textAt } from '../../json/value.ts'

/** What buyers miss or misread in a listing. */
export type ListingProblem = {
  message: string
  /** The text of the listing that it is about. */
  text: string
  /** Whether the seller surely meant something else. */
  isMistake: boolean
}

export type KnownMoney = {
  tokens: TokenTable
  /** All chains that there are; `null` where that is not known. */
  chains: ReadonlySet<string> | null
}

/** Of each rate by which no buyer finds the listing; of a mere doubt only where no other rate of it is found. */
export function paymentProblems(listing: JsonValue, known: KnownMoney): ListingProblem[] {
  const problems = ['accepted_escrows', 'settlement_options'].flatMap((member) =>
    listAt(listing, member)
      .filter(isJsonObject)
      .flatMap((terms) =>
        listAt(terms, 'rates').map((rate) => {
          const [option] = paymentOptions({ [member]: [{ ...terms, rates: [rate] }] })
          return option === undefined ? notRead(rate) : problemOf(option, known)
        }),
      ),
  )
  const isFound = problems.includes(null)
  return problems
    .filter((problem) => problem !== null)
    .filter(({ isMistake }) => isMistake || !isFound)
    .map((problem) => ({ ...problem, message: `no buyer finds it by its price: ${problem.message}` }))
}

function notRead(rate: JsonValue): ListingProblem {
  const value = at(rate, 'value')
  const text = textAt(rate, 'value') ?? 'rates'
  const isMistake = !/^\d+$/.test(String(value))
  const message = isMistake
    ? `the value ${formatJson(value)} is not a whole number of base units`
    : 'a rate needs a chain, a token and a unit'
  return { message, text, isMistake }
}

/** `null` where the price compares with others. */
function problemOf(
  { chain, token, per }: PaymentOption,
  { tokens, chains }: KnownMoney,
): ListingProblem | null {
  const known = tokens.find(chain, token)
  if (!UNITS.includes(per)) return unknownName(per, 'unit', UNITS)
  if (known?.testnet) {
    const message = `${known.symbol} on ${chain} is of a test network, and worth nothing`
    return { message, text: token, isMistake: false }
  }
  if (known !== null) return null
  const tokenChains = new Set([...tokens.all.map((one) => one.chain), ...(chains ?? [])])
  if (!tokenChains.has(chain)) {
    const problem = unknownName(chain, 'chain', tokenChains)
    const names = [...tokenChains].join(', ')
    if (problem.isMistake || chains === null) return problem
    return { ...problem, message: `${problem.message} of this Registry: known are ${names}`, isMistake: true }
  }
  const [named] = tokens.named(`${chain}:${token}`, true)
  const addresses = tokens.all.filter((one) => one.chain === chain).map(({ address }) => address)
  const near = named?.address ?? nearestName(token, addresses)
  const message = `${token} on ${chain} is not a known token${near === null ? '' : `; did you mean ${near}?`}`
  return { message, text: token, isMistake: near !== null }
}

function unknownName(name: string, what: string, names: Iterable<string>): ListingProblem {
  const suggestion = suggestName(name, names)
  return {
    message: `'${name}' is not a known ${what}${suggestion}`,
    text: name,
    isMistake: suggestion !== '',
  }
}

/** The deployed protocol counts API credits in tokens. */
const UNITS = [...TIME_UNITS, 'token']
