import type { ComponentChildren } from 'preact'
import type { PaymentOption } from '../../../domain/price/payment-option.ts'
import { type PricePer, readableAmount } from '../../../domain/price/price-key.ts'
import type { TokenTable } from '../../../domain/price/token.ts'
import { isFuture } from '../../../domain/timestamp.ts'
import { TimeAgo } from '../../common/time.ts'
import { linkTarget, shortAddress, untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import type { ListingView } from '../listing-view.ts'
import { Narrow, type Navigation, ViewLink } from '../navigation.ts'
import {
  amountOf,
  chainName,
  isTestnet,
  OutlierChip,
  safeUnit,
  shortAmount,
  shownOption,
  TestChip,
  unitsWord,
} from '../prices.ts'
import { type ListingRow, warningsOf } from '../state/listing-row.ts'

/** Of the rows of a page. Numbers begin with the largest. */
type RowKey = { of: (row: ListingRow) => string | number | null; isNumber: boolean }
/** Orders of the gateway. */
export type GatewayOrder = 'newest' | 'price' | 'price of the whole'

/** All that the board knows of a column. */
type Column = {
  /** Class of its cells, and the name of its order in addresses. */
  name: string
  title: (view: ListingView) => string
  /** What its prices are of. */
  per?: (view: ListingView) => PricePer
  /** What the rows of a page are ordered by; `null` where only the gateway orders. Numbers begin with the largest. */
  order: RowKey | GatewayOrder | null
  /** `null` where the value is among the details of the offer. */
  cell: ((cell: CellProps) => ComponentChildren) | null
  /** Its columns in a saved file. */
  csv: readonly (readonly [name: string, of: (priced: Priced) => unknown])[]
  /** Of the column in a table; `auto` is what the others leave. */
  width: string
  isShown: (table: ShownTable) => boolean
}

export type ShownTable = { listingView: ListingView; isMerged: boolean }

type CellProps = {
  row: ListingRow
  pricePer: PricePer
  tokens: TokenTable
  navigation: Navigation
  /** Milliseconds since the Unix epoch. */
  now: number
  /** That the head of the column says. */
  unit: string | null
}

/** A row with the option whose price is shown. */
type Priced = { row: ListingRow; option: PaymentOption | null; tokens: TokenTable }

const always = (): boolean => true
const isOfGpus = ({ listingView }: ShownTable): boolean => listingView.pricePer === 'gpu'

export const COLUMNS: readonly Column[] = [
  {
    name: 'price',
    title: ({ priceTitle }) => priceTitle,
    per: ({ pricePer }) => pricePer,
    order: 'price',
    cell: ({ pricePer, ...props }) =>
      html`<${Price} ...${props} per=${pricePer} none=${props.row.noPrice} /> <${Divided} ...${props} /> <${PaidIn} ...${props} />`,
    csv: [
      ['price_per_gpu', (priced) => amountPer('gpu', priced)],
      ['price', (priced) => amountPer('offer', priced)],
      ['unit', ({ option }) => option?.unit],
      ['token', ({ option, tokens }) => option && (symbolOf(option, tokens) ?? 'base units')],
      ['token_address', ({ option }) => option?.token],
      ['chain', ({ option }) => option?.chain],
      ['test_network', ({ option, tokens }) => option && (isTestnet(option, tokens) ? 'yes' : 'no')],
      ['other_prices', (priced) => otherPrices(priced)],
    ],
    width: '10.8rem',
    isShown: always,
  },
  {
    name: 'offer',
    title: () => 'Offer',
    order: { of: ({ model, offer }) => model ?? offer, isNumber: false },
    cell: (props) => html`<${Offer} ...${props} />`,
    csv: [
      ['offer', ({ row }) => row.offer],
      ['gpu_model', ({ row }) => row.gpu ?? row.model],
      ['gpu_model_written', ({ row }) => row.model],
      ['vcpus', ({ row }) => row.vcpus],
      ['disk_gb', ({ row }) => row.disk],
      ['longest_rent_seconds', ({ row }) => row.longestRent],
    ],
    width: 'auto',
    isShown: always,
  },
  {
    name: 'gpus',
    title: () => 'GPUs',
    order: { of: ({ gpus }) => gpus, isNumber: true },
    cell: null,
    csv: [['gpus', ({ row }) => row.gpus]],
    width: 'auto',
    isShown: isOfGpus,
  },
  {
    name: 'ram',
    title: () => 'RAM',
    order: { of: ({ ram }) => ram, isNumber: true },
    cell: null,
    csv: [['ram_gb', ({ row }) => row.ram]],
    width: 'auto',
    isShown: isOfGpus,
  },
  {
    name: 'sla',
    title: () => 'SLA',
    order: { of: ({ sla }) => sla, isNumber: true },
    cell: null,
    csv: [['sla', ({ row }) => row.sla]],
    width: 'auto',
    isShown: isOfGpus,
  },
  {
    name: 'whole',
    title: () => 'Whole offer',
    per: () => 'offer',
    order: 'price of the whole',
    cell: (props) => html`<${Price} ...${props} per="offer" none="–" />`,
    csv: [],
    width: '8.4rem',
    isShown: isOfGpus,
  },
  {
    name: 'region',
    title: () => 'Region',
    order: { of: ({ region }) => region, isNumber: false },
    cell: ({ row, navigation }) =>
      html`<${Narrow} ...${{ navigation, name: 'region', value: row.region }} />`,
    csv: [
      ['region', ({ row }) => row.region],
      ['country', ({ row }) => row.country],
    ],
    width: '9.6rem',
    isShown: ({ listingView }) => listingView.hasRegion,
  },
  {
    name: 'registry',
    title: () => 'Registry',
    order: { of: ({ registry }) => registry, isNumber: false },
    cell: (props) => html`<${Registry} ...${props} />`,
    csv: [
      ['registry', ({ row }) => row.registry],
      ['copy', ({ row }) => (row.isStale ? 'yes' : 'no')],
    ],
    width: '8.6rem',
    isShown: ({ isMerged }) => isMerged,
  },
  {
    name: 'seller',
    title: () => 'Seller',
    order: { of: ({ publisher }) => publisher, isNumber: false },
    cell: (props) => html`<${Seller} ...${props} />`,
    csv: [
      ['seller', ({ row }) => row.publisher],
      ['storefront_url', ({ row }) => row.storefrontUrl],
    ],
    width: '8.6rem',
    isShown: always,
  },
  {
    name: 'listed',
    title: () => 'Listed',
    order: 'newest',
    cell: ({ row }) => html`<${TimeAgo} at=${row.createdAt} isShort />`,
    csv: [
      ['created_at', ({ row }) => (row.createdAt === null ? null : new Date(row.createdAt).toISOString())],
    ],
    width: '5.2rem',
    isShown: always,
  },
]

type PriceProps = Omit<CellProps, 'pricePer'> & { per: PricePer; none: string }

/** `USDC/GPU·h` of most rows on a page; `null` where most are of an unknown token, or have no price. */
export function commonUnit(rows: readonly ListingRow[], per: PricePer, tokens: TokenTable): string | null {
  const units = Map.groupBy(rows, (row) => {
    const option = shownOption(row, tokens)
    const symbol = option && symbolOf(option, tokens)
    return symbol ? `${symbol}/${safeUnit(option.unit, per)}` : null
  })
  const [most = [null]] = [...units].sort(([, a], [, b]) => b.length - a.length)
  return most[0]
}

function Price({ row, tokens, per, none, unit }: PriceProps) {
  const option = shownOption(row, tokens)
  if (option === null) return html`<span class="hint">${none}</span>`
  const amount = amountOf(option, row.gpus, per, tokens)
  if (amount === null)
    return html`<span class="hint">${row.model === null ? 'no GPUs' : 'GPU count unknown'}</span>`
  const short = shortAmount(amount)
  const ofAmount = `${symbolOf(option, tokens) ?? unitsWord(amount)}/${safeUnit(option.unit, per)}`
  return html`<strong title=${amount} data-decimals=${short.split('.')[1]?.length}>${short}</strong> <span class=${ofAmount === unit ? 'unit common' : 'unit'}>${ofAmount}</span>`
}

/** The price by which the rows are ordered or limited, where it is of a GB or a TFLOP of the data sheet. */
function Divided({ row: { divided } }: Pick<CellProps, 'row'>) {
  if (divided === null) return null
  const { amount, unit, per, symbol } = divided
  const readable = readableAmount(amount, symbol !== null)
  return html`<small title=${readable}>${shortAmount(readable)} ${symbol ?? unitsWord(readable)}/${safeUnit(unit, per)}</small>`
}

/** What the price is paid in, and how many other options there are. */
function PaidIn({ row, tokens }: Pick<CellProps, 'row' | 'tokens'>) {
  const option = shownOption(row, tokens)
  if (option === null) return null
  const token = symbolOf(option, tokens) === undefined ? `${shortAddress(option.token)} on ` : ''
  const more = row.options.length > 1 ? `, +${row.options.length - 1} more` : ''
  return html`${row.isOutlier && html`<${OutlierChip} />`}${isTestnet(option, tokens) && html`<${TestChip} />`}<span class="hint" title=${untrustedText(option.token)}>${token}${chainName(option.chain)}${more}</span>`
}

function Offer({ row, navigation, now }: CellProps) {
  const offer = untrustedText(row.offer)
  const details = untrustedText(row.details)
  return html`<${ViewLink} ...${{ navigation, change: { open: row } }} class="open" title=${untrustedText(row.written)}><bdi>${offer}</bdi><//>
    <${Flags} ...${{ row, now }} />
    <span class="hint details" title=${details}><bdi>${unbroken(details)}</bdi></span>`
}

/** Breaks between details, not within one: `99.5 % SLA`. */
const unbroken = (details: string): string =>
  details
    .split(' · ')
    .map((one) => (one.length <= MAX_UNBROKEN ? one.replaceAll(' ', '\u00a0') : one))
    .join(' · ')

const MAX_UNBROKEN = 24

function Flags({ row, now }: Pick<CellProps, 'row' | 'now'>) {
  const flag = (text: string, why?: string) =>
    html`<span class="flag" title=${why}>${text}${why !== undefined && html`<span class="unseen">: ${why}</span>`}</span>`
  return html`${row.status !== 'open' && flag(untrustedText(row.status))}
    ${row.createdAt !== null && isFuture(row.createdAt, now) && flag('dated in the future', 'The seller or the Registry gives a time that has not come yet')}
    ${warningsOf(row).map(([title, why]) => flag(title, untrustedText(why)))}`
}

function Registry({ row, navigation }: CellProps) {
  const title = `also in ${untrustedText(row.alsoIn.join(', '))}`
  return html`<${Narrow} ...${{ navigation, name: 'sources', value: row.registry }} />
    ${row.alsoIn.length > 0 && html`<span class="hint" title=${title}> ${title}</span>`}`
}

const Seller = ({ row, navigation }: CellProps) =>
  row.address === null
    ? html`${untrustedText(row.publisher ?? '–')}`
    : html`<${Narrow} ...${{ navigation, name: 'publisher', value: row.address }} text=${shortAddress(row.address)} />`

/** A link only to the web. */
export function Storefront({ url, class: name }: { url: string | null; class?: string }) {
  const target = url === null ? null : linkTarget(url)
  if (target === null) return null
  return html`<a class=${name} href=${target} title=${untrustedText(target)} target="_blank" rel="noopener noreferrer nofollow ugc">Storefront ↗</a>`
}

/** RFC 4180. Columns that are not shown count, too. @param notes lines before the header */
export function listingsCsv(
  rows: readonly ListingRow[],
  tokens: TokenTable,
  notes: readonly string[] = [],
): string {
  const fields: Column['csv'] = [['listing_id', ({ row }) => row.id], ...COLUMNS.flatMap(({ csv }) => csv)]
  const lines = rows.map((row) => {
    const option = shownOption(row, tokens)
    return fields.map(([, of]) => String(of({ row, option, tokens }) ?? ''))
  })
  const head = fields.map(([name]) => name)
  const comments = notes.map((note) => `# ${note}\r\n`)
  const cells = [head, ...lines].map((one) => `${one.map(csvCell).join(',')}\r\n`)
  return [...comments, ...cells].join('')
}

/** Spreadsheets run a cell that begins like a formula. */
const csvCell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`

const amountPer = (per: PricePer, { row, option, tokens }: Priced) =>
  option && amountOf(option, row.gpus, per, tokens)?.replaceAll(',', '')

/** `2.1875 USDC/h on Ethereum; …`. */
const otherPrices = ({ row, option, tokens }: Priced): string =>
  row.options
    .filter((one) => one !== option)
    .map((one) => {
      const amount = amountOf(one, row.gpus, 'offer', tokens)
      return `${amount} ${symbolOf(one, tokens) ?? 'base units'}/${safeUnit(one.unit, 'offer')} on ${chainName(one.chain)}`
    })
    .join('; ')

const symbolOf = ({ chain, token }: PaymentOption, tokens: TokenTable): string | undefined =>
  tokens.find(chain, token)?.symbol
