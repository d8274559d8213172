import { readableAmount } from '../../../domain/price/price-key.ts'
import type { TokenTable } from '../../../domain/price/token.ts'
import { CopyButton } from '../../common/copy-button.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { agentCall, listingAddress } from '../commands.ts'
import { modelsOfRows, type PricedModels } from '../model-prices.ts'
import { chainName, safeUnit, shortAmount, unknownUnits } from '../prices.ts'
import type { FacetCounts } from '../state/facets.ts'
import type { Listings } from '../state/listings.ts'
import { leadingRow, type PriceRow } from '../state/market-prices.ts'
import { matchString, type Query, queryString } from '../view.ts'

type FactsProps = {
  facets: FacetCounts
  listings: Listings
  tokens: TokenTable
}

/** `59 GPUs · 1.75 – 3.73 USDC per GPU·h, median 2.58 (22 offers)`: prices are of the token with most offers. */
export function Facts({ facets, listings, tokens }: FactsProps) {
  const { market, uncounted } = facets
  const { rows, isComplete } = listings
  const price = leadingRow(market.rows)
  // Of a gateway that counts by token and chain: once all listings are loaded, each counts once, at its lowest price.
  const loaded = market.gpus === null && listings.isWhole ? modelsOfRows(rows, tokens, () => '') : null
  const gpus = loaded === null ? market.gpus : rows.reduce((sum, row) => sum + (row.gpus ?? 0), 0)
  return html`<p class="facts-line">
    ${gpus !== null && gpus > 0 && `${number(gpus)} GPUs${price === undefined ? '' : ' · '}`}
    ${loaded === null ? price !== undefined && pricesOf(price) : loadedPricesOf(loaded)}
    ${isComplete && uncounted.length > 0 && html` <span class="hint">Counts leave out ${untrustedText(uncounted.join(', '))}.</span>`}
  </p>`
}

function pricesOf(price: PriceRow) {
  const { symbol, unit, offers, outliers = 0, least, median, most, chains } = price
  const left = outliers === 0 ? '' : `; ${outliers.toLocaleString('en')} far below the median left out`
  const text = (amount: string): string => shortAmount(readableAmount(amount, symbol !== undefined))
  const where = chains.length === 1 ? ` on ${chainName(chains[0]!.chain)}` : ''
  return html`<strong>${text(least)}</strong> – ${text(most)} ${symbol ?? unknownUnits(price.token ?? '')} per ${safeUnit(unit, price.price_per)},
    ${' '}median <strong>${text(median)}</strong>
    ${' '}<span class="hint">(${number(offers)} ${offers === 1 ? 'offer' : 'offers'}${where}${left})</span>`
}

function loadedPricesOf({ unit, models }: PricedModels) {
  const { amounts, count } = models[0]!
  const [least, median, most] = amounts
  return html`<strong>${least.text}</strong> – ${most.text} ${unit} per GPU·h, median <strong>${median.text}</strong>
    ${' '}<span class="hint">(${number(count)} ${count === 1 ? 'offer' : 'offers'})</span>`
}

const number = (value: number): string => value.toLocaleString('en')

/** The answer in a sentence with what it rests on. */
export const Sentence = ({ facets: { market, total } }: Pick<FactsProps, 'facets'>) =>
  market.summary !== null &&
  total !== 0 &&
  html`<p class="sentence"><bdi>${untrustedText(market.summary, MAX_CHARS)}</bdi></p>`

const MAX_CHARS = 1000

type AgentCopyProps = Pick<FactsProps, 'facets' | 'listings'> & { query: Query; loadedAt: number | null }

/** The answer in words, with all that another reader needs to ask it again. */
export function AgentCopy({ facets, listings: { rows }, query, loadedAt }: AgentCopyProps) {
  const copied = (): string => {
    const facts = document.querySelector('.summary')?.textContent ?? ''
    const at = new Date(loadedAt ?? Date.now()).toISOString()
    const { href: base } = new URL('.', location.href)
    const [first] = rows
    return [
      facets.market.summary ?? facts.replace(/\s+/g, ' ').trim(),
      ...(first === undefined ? [] : [`First listing: ${base}${listingAddress(first)}`]),
      `All listings as JSON: ${base}listings?${queryString(query)}`,
      `Counts and prices as JSON: ${base}facets?${matchString(query)}`,
      `Over MCP at ${base}mcp: ${agentCall(query)}`,
      `Page: ${location.href}`,
      `Read at ${at}`,
    ].join('\n')
  }
  return html`<${CopyButton} text=${copied} label="for my agent">Copy for my agent<//>`
}
