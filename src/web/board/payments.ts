import { useState } from 'preact/hooks'
import { type PaymentOption, paymentOptions, paymentTerms } from '../../domain/price/payment-option.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { at, type JsonObject, listAt, textAt } from '../../json/value.ts'
import { CopyButton } from '../common/copy-button.ts'
import { type DataColumn, DataTable } from '../common/data-table.ts'
import { shortAddress, untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import {
  amountOf,
  chainName,
  isTestnet,
  moneyName,
  OutlierChip,
  safeUnit,
  shortAmount,
  shownOption,
  TestChip,
  tokenName,
} from './prices.ts'
import type { ListingRow } from './state/listing-row.ts'

type PriceLinesProps = { row: ListingRow; tokens: TokenTable; isShort?: boolean }

/** The price per GPU and of the whole offer. Its unit is an element of its own, which no long value can cut off. */
export function PriceLines({ row, tokens, isShort }: PriceLinesProps) {
  const option = shownOption(row, tokens)
  if (option === null) return html`<p class="big-price">${capitalised(row.noPrice)}</p>`
  const isPerGpu = row.gpus !== null && option.unit === 'hour'
  const amountPer = (per: 'gpu' | 'offer'): string => amountOf(option, row.gpus, per, tokens) ?? '–'
  const line = (per: 'gpu' | 'offer') =>
    html`<strong>${isShort ? shortAmount(amountPer(per)) : amountPer(per)}</strong> <span class="unit">${moneyName(option, tokens, amountPer(per))} per ${safeUnit(option.unit, per)}</span>`
  return html`<p class="big-price">${line(isPerGpu ? 'gpu' : 'offer')}${isTestnet(option, tokens) && html` <${TestChip} />`}${row.isOutlier && html` <${OutlierChip} />`}</p>
    ${isPerGpu && html`<p>${line('offer')} <span class="hint">for the whole offer</span></p>`}`
}

const capitalised = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)

/** Of the whole offer, for as many hours as the reader likes and the seller allows. */
export function Total({ row, tokens }: PriceLinesProps) {
  const most = row.longestRent === null ? null : Math.max(1, Math.floor(row.longestRent / 3600))
  const [hours, setHours] = useState(String(Math.min(24, most ?? 24)))
  const option = shownOption(row, tokens)
  if (option === null || option.unit !== 'hour') return null
  const isCount = /^[1-9]\d{0,5}$/.test(hours) && Number(hours) <= (most ?? Number.POSITIVE_INFINITY)
  const total = isCount
    ? amountOf({ ...option, value: option.value * BigInt(hours) }, row.gpus, 'offer', tokens)
    : '–'
  return html`<p class="total">
    <label>
      For <input inputmode="numeric" autocomplete="off" value=${hours} aria-invalid=${isCount ? undefined : 'true'} onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setHours(currentTarget.value.trim())} /> hours:
    </label>
    ${' '}<output>${total} ${moneyName(option, tokens, total ?? '')}</output>
    ${most !== null && html` <span class=${isCount ? 'hint' : 'fault'}>longest rent ${most.toLocaleString('en')}\u00a0h</span>`}
  </p>`
}

const MAX_ROWS = 32

type PaymentsProps = { row: ListingRow; listing: JsonObject; tokens: TokenTable }

/** Every rate of every accepted escrow, and of every settlement option. */
export function Payments({ row, listing, tokens }: PaymentsProps) {
  const payments = ['accepted_escrows', 'settlement_options'].flatMap((member) =>
    listAt(listing, member).flatMap((published) => paymentsOf({ [member]: [published] })),
  )
  if (payments.length === 0) return html`<p class="hint">The listing names no payment.</p>`
  const rows = payments.slice(0, MAX_ROWS).map(({ option, address, chain, token }, key) => {
    const perGpu =
      option?.unit === 'hour' && row.gpus !== null ? amountOf(option, row.gpus, 'gpu', tokens) : null
    const whole =
      option && `${amountOf(option, row.gpus, 'offer', tokens)} per ${safeUnit(option.unit, 'offer')}`
    const isTest = option !== null && isTestnet(option, tokens)
    const tokenCell = html`${isTest && html`<${TestChip} /> `}<${Address} text=${token} caption=${tokenName({ chain, token }, tokens)} label="token" />`
    const escrow =
      address && html`<${Address} text=${address} caption=${shortAddress(address)} label="escrow" />`
    const cells = [whole ?? row.noPrice, tokenCell, chainName(chain), escrow ?? '–']
    return { key, cells: row.gpus === null ? cells : [perGpu ?? '–', ...cells] }
  })
  return html`<${DataTable} label="Accepted payments" columns=${row.gpus === null ? COLUMNS.slice(1) : COLUMNS} rows=${rows} />
    ${payments.length > MAX_ROWS && html`<p class="hint">and ${payments.length - MAX_ROWS} more</p>`}
    <${Arbiters} listing=${listing} />`
}

/** @param published with one escrow, or one settlement option */
function paymentsOf(published: JsonObject) {
  const [terms] = paymentTerms(published)
  const options: (PaymentOption | null)[] = paymentOptions(published)
  const address = textAt(terms?.escrow ?? null)
  const chain = textAt(terms?.chain ?? null) ?? '–'
  const token = textAt(terms?.token ?? null) ?? '–'
  return (options.length === 0 ? [null] : options).map((option) => ({ option, address, chain, token }))
}

const COLUMNS: readonly DataColumn[] = [
  { title: 'Per GPU·h', isNumber: true },
  { title: 'Whole offer', isNumber: true },
  { title: 'Token' },
  { title: 'Chain' },
  { title: 'Escrow' },
]

const Address = ({ text, caption, label }: { text: string; caption: string; label: string }) =>
  html`<code title=${untrustedText(text)}>${caption}</code> <${CopyButton} text=${text} label=${`${label} ${caption}`} />`

/** A buyer picks one. */
function Arbiters({ listing }: { listing: JsonObject }) {
  const arbiters = listAt(listing, 'demands').map((demand) => ({
    arbiter: textAt(demand, 'arbiter') ?? 'without address',
    chain: textAt(demand, 'chain_name'),
  }))
  const oracle = textAt(at(listing, 'oracle_address'))
  const code = (address: string) =>
    html`<code title=${untrustedText(address)}>${shortAddress(address)}</code>`
  const byAddress = [...Map.groupBy(arbiters.slice(0, MAX_ROWS), ({ arbiter }) => arbiter)]
  const names = byAddress.map(([arbiter, demands], n) => {
    const chains = demands.map(({ chain }) => (chain === null ? 'any chain' : chainName(chain)))
    return html`${n > 0 && ', or '}${code(arbiter)} on ${[...new Set(chains)].join(' or ')}`
  })
  return html`${arbiters.length > 0 && html`<p>Arbiter: ${names}.</p>`}
  ${oracle !== null && html`<p>Oracle: ${code(oracle)}</p>`}`
}
