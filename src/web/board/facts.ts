import { readableAmount } from '../../domain/price/readable-amount.ts'
import type { PriceRangeJson } from '../../wire/facets.ts'
import { shortAddress } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { chainName, shortAmount, unitName } from './prices.ts'
import type { FacetCounts } from './state/facets.ts'

/** `412 GPUs · from 0.01, median 0.43, up to 2.10 USDC per GPU·h`: of the token with most offers. */
type FactsProps = {
  facets: FacetCounts
  /** Whether the listings are, so that only the counts may lack some. */
  isComplete: boolean
}

export function Facts({ facets: { prices, isComplete: isCounted }, isComplete }: FactsProps) {
  const price = prices.find(({ symbol }) => symbol !== undefined) ?? prices[0]
  return html`<p class="facts-line">${price !== undefined && words(price)}${isComplete && !isCounted && html` <span class="hint">Some registries are too large to count.</span>`}</p>`
}

function words({ chain, token, symbol, unit, price_per, gpus, offers, least, median, most }: PriceRangeJson) {
  const shown = (amount: string): string => shortAmount(readableAmount(amount, symbol !== undefined))
  const name = symbol ?? `base units of ${shortAddress(token)}`
  return html`${unit === 'hour' && gpus > 0 ? `${gpus.toLocaleString('en')} GPUs · ` : ''}from
    ${' '}<strong>${shown(least)}</strong>, median <strong>${shown(median)}</strong>, up to ${shown(most)}${' '}
    ${name} per ${unitName(unit, price_per)}
    ${' '}<span class="hint">(${offers.toLocaleString('en')} ${offers === 1 ? 'offer' : 'offers'} on ${chainName(chain)})</span>`
}
