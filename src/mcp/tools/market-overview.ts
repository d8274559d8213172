import { z } from 'zod'
import { plural } from '../../domain/plural.ts'
import { readableAmount, unitName } from '../../domain/price/price-key.ts'
import { MAX_FACETS, type MergedFacets, REGISTRY_FACET } from '../../gateway/counts/facets.ts'
import type { Hints } from '../../gateway/counts/hints.ts'
import { sourceMembers } from '../../gateway/source-report.ts'
import { describeSuggestions, describeUnplaced } from '../../wire/describe-hints.ts'
import { describeCost } from '../../wire/describe-summary.ts'
import type { FacetJson, NotCounted, PriceRangeJson } from '../../wire/facets.ts'
import { describeMatches, shownValue } from '../notices.ts'
import { plainName, quoted } from '../quoted.ts'
import {
  DETAIL,
  defineTool,
  MARKET_INPUT,
  MAX_TEXT,
  marketQuery,
  renderCount,
  renderValue,
  renderValues,
  seen,
  topValues,
} from '../tool.ts'

/** What listings mean, whatever the spelling. */
const DEFAULT_BY = ['gpu', 'country', REGISTRY_FACET]

/** Per facet: an agent reads few of a hundred. */
const MAX_VALUES = 25
const MAX_PRICES = 12

export const marketOverviewTool = defineTool({
  name: 'market_overview',
  description:
    'What there is and what it costs, over every matching listing, each once: the cheapest ' +
    'and the median price, prices by token, and listings per value of filters. {"filters": {"continent": "EU"}, ' +
    '"prices_by": "gpu"} gives the models in Europe with the median price of each. Listings are chosen as by search_listings. INCOMPLETE: cheaper offers may exist.',
  input: {
    by: z
      .array(z.string().max(MAX_TEXT))
      .max(MAX_FACETS)
      .optional()
      .describe('Filters whose values are counted, or registry'),
    prices_by: z.string().max(MAX_TEXT).optional().describe('Filter of which each value gets its prices'),
    ...MARKET_INPUT,
    ...DETAIL,
  },
  run: async (market, { by, prices_by, detail, ...input }, request) => {
    const { filters } = await market.filterSpec(request)
    const usual = DEFAULT_BY.filter((name) => name === REGISTRY_FACET || filters.has(name))
    const query = {
      ...marketQuery(market, input, { countsPrices: true }),
      by: by ?? (prices_by === undefined ? usual : null),
      pricesBy: prices_by ?? null,
    }
    const counts = await market.facets(query, request)
    const matches = plural(counts.total, 'listing matches', 'listings match')
    const count = counts.gpus === 0 ? matches : `${matches}, with ${plural(counts.gpus, 'GPU')} in all`
    const notice = [
      await describeMatches(market, query, counts, count, request),
      ...(counts.total === 0 ? [] : describeCost({ ...counts, not_counted: counts.notCounted })),
      ...describeSuggestions(counts.total, counts.suggestions, shownValue),
      ...describeUnplaced(counts.unplaced),
    ].join(' ')
    if (detail === 'full') return { notice, json: JSON.stringify(shortened(counts)) }
    return { notice, lines: counts.total === 0 ? [] : renderOverview(counts) }
  },
})

type Counts = MergedFacets & Pick<Hints, 'unplaced'> & { notCounted: NotCounted }

/** Completeness comes first, since clients may cut the end. */
function shortened({ complete, total, facets, prices, ...counts }: Counts): object {
  const { unplaced, gpus, sellers, outliers, notCounted } = counts
  const entries = Object.entries(facets).map(([name, { missing, ...facet }]) => [
    name,
    { ...topValues(facet, MAX_VALUES), missing },
  ])
  return {
    complete,
    ...sourceMembers(counts),
    total,
    gpus,
    sellers,
    unplaced,
    prices: prices.slice(0, MAX_PRICES),
    outliers: outliers || undefined,
    not_counted: notCounted,
    facets: Object.fromEntries(entries),
  }
}

function renderOverview({ facets, prices }: Counts): string[] {
  return [
    ...prices.slice(0, MAX_PRICES).map(renderPrices),
    ...Object.entries(facets).flatMap(([name, facet]) => renderFacet(name, facet)),
  ]
}

/** `1.75 – 3.73 USDC/GPU·h, median 2.58|20 offers, 47 GPUs`. */
function renderPrices({
  symbol,
  token,
  testnet,
  unit,
  price_per,
  offers,
  gpus,
  ...range
}: PriceRangeJson): string {
  const [least, median, most] = [range.least, range.median, range.most].map((amount) =>
    readableAmount(amount, symbol !== undefined),
  )
  const price = least === most ? least : `${least} – ${most}`
  const name = symbol ?? `${price === '1' ? 'unit' : 'units'} of ${quoted(token ?? '', MAX_TOKEN)}`
  const basis = `${name}/${unitName(unit === 'hour' || unit === 'token' ? unit : quoted(unit, MAX_TOKEN), price_per)}`
  const counted = [plural(offers, 'offer'), ...(gpus === 0 ? [] : [plural(gpus, 'GPU')])].join(', ')
  return `${price} ${basis}${testnet ? ' TESTNET' : ''}, median ${median}|${counted}`
}

const MAX_TOKEN = 16

/** One line, or a line for each value that has prices. */
function renderFacet(name: string, facet: FacetJson): string[] {
  const { values, missing } = facet
  const title = plainName(name, MAX_TEXT)
  const unsaid = missing === 0 ? '' : `, ${missing} do not say`
  if (values.every(({ prices }) => prices === undefined))
    return [`${title}: ${renderValues(name, facet, MAX_VALUES)}${unsaid}`]
  const rest = topValues(seen(facet), MAX_VALUES)
  const more = rest.other === 0 ? '' : `, ${rest.other} with other values`
  return [
    `${title}, with prices${more}${unsaid}:`,
    ...rest.values.map(({ value, count, at_least, prices = [] }) => {
      const [lead] = prices
      const price = lead === undefined ? 'no price' : renderPrices(lead)
      return `${renderValue(name, value)}|${renderCount(plural(count, 'listing'), at_least)}|${price}`
    }),
  ]
}
