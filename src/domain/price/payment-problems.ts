import { at, formatJson, isJsonObject, type JsonValue, listAt } from '../../json/value.ts'
import { nearestName, suggestName } from '../nearest-name.ts'
import { type PaymentOption, paymentOptions, TIME_UNITS } from './payment-option.ts'
import type { TokenTable } from './token.ts'

/**
 * Why no buyer finds a listing by its price, each reason once; empty for one that buyers find, and for one without rates, whose
 * price is on request.
 */
export function paymentProblems(listing: JsonValue, tokens: TokenTable): string[] {
  const problems = ['accepted_escrows', 'settlement_options'].flatMap((member) =>
    listAt(listing, member)
      .filter(isJsonObject)
      .flatMap((terms) =>
        listAt(terms, 'rates').map((rate) => {
          const [option] = paymentOptions({ [member]: [{ ...terms, rates: [rate] }] })
          return option === undefined ? notRead(at(rate, 'value')) : problemOf(option, tokens)
        }),
      ),
  )
  if (problems.includes(null)) return []
  return [...new Set(problems)].map((problem) => `no buyer finds it by its price: ${problem}`)
}

function notRead(value: JsonValue): string {
  return /^\d+$/.test(String(value))
    ? 'a rate needs a chain, a token and a unit'
    : `the value ${formatJson(value)} is not a whole number of base units`
}

/** `null` where the price compares with others. */
function problemOf({ chain, token, per }: PaymentOption, tokens: TokenTable): string | null {
  if (!UNITS.includes(per)) return `'${per}' is not a known unit${suggestName(per, UNITS)}`
  const known = tokens.find(chain, token)
  if (known?.testnet) return `${known.symbol} on ${chain} is of a test network, and worth nothing`
  if (known !== null) return null
  const chains = new Set(tokens.all.map((one) => one.chain))
  if (!chains.has(chain) && nearestName(chain, chains) !== null)
    return `'${chain}' is not a known chain${suggestName(chain, chains)}`
  return `${token} on ${chain} is not a known token`
}

/** The deployed protocol counts API credits in tokens. */
const UNITS = [...TIME_UNITS, 'token']
