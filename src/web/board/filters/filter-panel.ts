import { useRef } from 'preact/hooks'
import type { ProblemError } from '../../../client/problem-error.ts'
import type { TokenTable } from '../../../domain/price/token.ts'
import { writeSet } from '../../../filter-spec/literals.ts'
import type { JsonValue } from '../../../json/value.ts'
import type { FacetJson } from '../../../wire/facets.ts'
import { SelectBox } from '../../common/select-box.ts'
import { shortAddress } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import type { ListingView } from '../listing-view.ts'
import { chainName } from '../prices.ts'
import type { Answer } from '../state/answer.ts'
import { type FacetCounts, PLACES } from '../state/facets.ts'
import { parameterOf, type Query, withValue } from '../view.ts'
import { type Control, faultIn, readChoices } from './controls.ts'
import { FacetList } from './facet-list.ts'
import { Field } from './field.ts'
import { FilterControl } from './filter-control.ts'
import { PlaceFilter } from './place-filter.ts'
import { PriceFilter } from './price-filter.ts'

type FilterPanelProps = {
  spec: Answer<JsonValue>
  onRetry: () => void
  controls: readonly Control[]
  listingView: ListingView
  facets: FacetCounts
  tokens: TokenTable
  /** Names of sources that can be chosen. */
  sources: readonly string[]
  query: Query
  options: { key: string | null; refreshes: number }
  error: ProblemError | null
  onChange: (query: Query, control: string) => void
}

const STATUSES = [
  ['open', 'open'],
  ['closed', 'closed'],
  ['expired', 'expired'],
  ['', 'any'],
]

export function FilterPanel(props: FilterPanelProps) {
  const { spec, facets } = props
  // The panel is drawn when the counts are known, so that nothing in it moves afterwards.
  const isDrawn = useRef(false)
  const isLoading =
    (spec.state === 'loading' && spec.value === null) ||
    (facets.state === 'loading' && facets.total === null && !isDrawn.current)
  isDrawn.current = !isLoading
  return isLoading ? html`<p class="hint">Loading filters…</p>` : html`<${Filters} ...${props} />`
}

function Filters(props: FilterPanelProps) {
  const { spec, onRetry, controls, listingView, facets, tokens, sources, query, options, error, onChange } =
    props
  const set = (name: string, value: string | null): void => onChange(withValue(query, name, value), name)
  const show = (control: Control) =>
    html`<${FilterControl}
      key=${control.name}
      ...${{ control, query }}
      apiKey=${options.key}
      facet=${facets.byName.get(control.name) ?? null}
      wordsOf=${control.name === 'token' ? (address: string) => tokenWords(address, tokens) : undefined}
      refusal=${refusalOf(error, control.name)}
      onChange=${(next: Query) => onChange(next, control.name)}
    />`
  const { filters, hasRegion } = listingView
  const isFurther = ({ name }: Control): boolean =>
    !filters.includes(name) && !(hasRegion && PLACES.some((place) => place === name))
  const furtherControls = controls.filter(isFurther)
  // They stay open when the last of them is removed.
  const wasOtherSet = useRef(false)
  wasOtherSet.current ||= furtherControls.some(({ name }) => parameterOf(query, name) !== null)
  return html`<form class="stack" aria-label="Filters" onSubmit=${(event: Event) => event.preventDefault()}>
    <${PriceFilter}
      ...${{ query, tokens }}
      prices=${facets.market.rows}
      hasGpus=${listingView.pricePer === 'gpu'}
      refusal=${refusalOf(error, 'price_')}
      onChange=${(next: Query) => onChange(next, 'price')}
    />
    ${
      spec.state === 'failed' &&
      html`<p class="fault" role="alert">Filters could not be loaded.</p>
        <button type="button" onClick=${onRetry}>Load the filters again</button>`
    }
    ${filters.map((name) =>
      name === 'continent'
        ? html`<${PlaceFilter} ...${{ query, options }} facet=${facets.byName.get(name) ?? null} onChange=${(next: Query) => onChange(next, name)} />`
        : controls.filter((control) => control.name === name).map(show),
    )}
    ${sources.length > 1 && html`<${RegistryFilter} ...${{ sources, facets, query, set }} />`}
    ${
      furtherControls.length > 0 &&
      html`<details class="more" open=${wasOtherSet.current}>
        <summary>More filters</summary>
        <div class="stack">${furtherControls.map(show)}</div>
      </details>`
    }
    <${SellerAndStatus} ...${{ query, set }} refusal=${refusalOf(error, 'publisher')} />
  </form>`
}

type OwnFilterProps = { query: Query; set: (name: string, value: string | null) => void }

/** `sources` is a plain list, which the list of values reads as a set form. */
function RegistryFilter(props: OwnFilterProps & Pick<FilterPanelProps, 'sources' | 'facets'>) {
  const { query, set, sources, facets } = props
  const names = parameterOf(query, 'sources')
  return html`<${FacetList}
    name="sources"
    label="Registry"
    value=${names === null ? null : writeSet('in', names.split(','))}
    facet=${registryFacet(facets, sources)}
    choices=${sources}
    onChange=${(value: string | null) => set('sources', value === null ? null : readChoices(value).join(','))}
  />`
}

const SellerAndStatus = ({ query, set, refusal }: OwnFilterProps & { refusal: string | null }) =>
  html`<div class="filter stack">
      <label for="publisher">Seller (address)</label>
      <${Field}
        id="publisher"
        value=${parameterOf(query, 'publisher') ?? ''}
        placeholder="0x…"
        refusal=${refusal}
        faultOf=${(text: string) => faultIn(text, 'address')}
        onChange=${(text: string) => set('publisher', text || null)}
      />
    </div>
    <div class="filter stack">
      <label for="status">Status</label>
      <${SelectBox}
        id="status"
        value=${parameterOf(query, 'status') ?? 'open'}
        options=${STATUSES}
        onChange=${(value: string) => set('status', value === 'open' ? null : value)}
      />
    </div>`

/** `USDC on Base`; the filter has no chain, so it is that of the first token with the address. */
function tokenWords(address: string, tokens: TokenTable): string {
  const token = tokens.all.find((one) => one.address === address.toLowerCase())
  return token === undefined ? shortAddress(address) : `${token.symbol} on ${chainName(token.chain)}`
}

/** Without the sources of other gateways, which cannot be chosen. */
function registryFacet({ byName }: FacetCounts, sources: readonly string[]): FacetJson | null {
  const facet = byName.get('sources')
  return facet === undefined
    ? null
    : { ...facet, values: facet.values.filter(({ value }) => sources.includes(value)) }
}

/** The gateway names the parameter that it refuses. @param name `price_` is each that begins so */
function refusalOf(error: ProblemError | null, name: string): string | null {
  if (error === null || (error.status !== 400 && error.status !== 422)) return null
  const isAbout = (word: string): boolean => (name.endsWith('_') ? word.startsWith(name) : word === name)
  return error.message.split(/[^\w-]+/).some(isAbout) ? error.message : null
}
