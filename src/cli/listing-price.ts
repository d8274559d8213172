import { gpuCount } from '../domain/price/payment-option.ts'
import type { TokenTable } from '../domain/price/token.ts'
import { at, formatJson, isJsonObject, type JsonObject, listAt, textAt } from '../json/value.ts'
import { CliError, EXIT } from './exit-codes.ts'

const PRICE = /^(\d+)(?:\.(\d+))? (\S+) per (GPU-)?(\S+)$/i

/**
 * The escrows of a listing, as JSON, with its `price: 2.10 USDC per GPU-hour` as the `value` of each rate in that token and unit that
 * has none. @throws CliError 65 with the place
 */
export function pricedEscrows(listing: JsonObject, tokens: TokenTable, place: string): string {
  const refusal = (problem: string) => new CliError(EXIT.badData, `${place}: price ${problem}`)
  const [, whole, fraction = '', symbol = '', perGpu, per = ''] = PRICE.exec(String(listing.price)) ?? []
  if (whole === undefined) throw refusal("must be as in '2.10 USDC per GPU-hour' or '16.80 USDC per hour'")
  const gpus = perGpu === undefined ? 1 : gpuCount(listing)
  if (gpus === null) throw refusal('is of one GPU, and offer_resource has no gpu_count')
  let filled = 0
  const escrows = listAt(listing, 'accepted_escrows').map((escrow) => {
    const address = textAt(escrow, 'literal_fields', 'token') ?? ''
    const token = tokens.find(textAt(escrow, 'chain_name') ?? '', address)
    if (!isJsonObject(escrow) || !Array.isArray(escrow.rates)) return escrow
    if (token?.symbol.toLowerCase() !== symbol.toLowerCase()) return escrow
    const { decimals } = token
    if (fraction.length > decimals)
      throw refusal(`has more than the ${decimals} decimal places of ${token.symbol}`)
    const value = String(BigInt(whole + fraction.padEnd(decimals, '0')) * BigInt(gpus))
    const rates = escrow.rates.map((rate) => {
      if (!isJsonObject(rate) || rate.per !== per || at(rate, 'value') !== null) return rate
      filled++
      return { ...rate, value }
    })
    return { ...escrow, rates }
  })
  if (filled > 0) return formatJson(escrows)
  throw refusal(
    `has no place: no escrow in ${symbol} has a rate per ${per} without a value; write rates: [{ field: amount, per: ${per} }]`,
  )
}
