import { Option } from 'commander'
import { plural } from '../../domain/plural.ts'
import { readableAmount, shortenAmount } from '../../domain/price/price-key.ts'
import { safeText } from '../../domain/safe-text.ts'
import { MAX_FACETS, type MergedFacets } from '../../gateway/counts/facets.ts'
import { describeSummary } from '../../wire/describe-summary.ts'
import type { FacetJson, PriceRangeJson } from '../../wire/facets.ts'
import { type CommandDefinition, collect, JSON_OPTION, TABLE_OPTION } from '../command.ts'
import { priceBasis } from '../output/price-text.ts'
import { tableText } from '../output/table.ts'
import { type OutputOptions, printData, type Terminal } from '../output/terminal.ts'
import { COMMAND } from '../registries/buyer-market.ts'
import {
  addMarketOptions,
  askMarket,
  type MarketOptions,
  marketDeadlines,
  readMarketQuery,
} from '../registries/market-options.ts'
import { selectRegistries, splitList } from '../registries/select-registries.ts'

type FacetsOptions = MarketOptions & OutputOptions & { by?: readonly string[] }

export const facetsCommand: CommandDefinition<FacetsOptions> = {
  summary: 'count the listings per value, and print their prices per token',
  define: (command) =>
    addMarketOptions(command)
      .option(
        '--by <names>',
        `filters whose values are counted, up to ${MAX_FACETS}, or registry (default: gpu, service_name, region, registry)`,
        collect,
      )
      .addOption(new Option(...TABLE_OPTION).conflicts(['json']))
      .option(...JSON_OPTION),
  example: 'entrepot facets -r http://127.0.0.1:8080 --by gpu,region --token USDC --max-price 2.10',
  async run(context, options) {
    const { terminal } = context
    const selected = selectRegistries(terminal, options)
    const by = options.by === undefined ? null : splitList(options.by)
    const query = readMarketQuery(terminal, options, selected.tokens, { countsPrices: true })
    const deadlines = marketDeadlines(selected.discoveryTimeoutMs, options, true)
    const { answer, exitCode } = await askMarket(context, selected, deadlines, query, (market) =>
      market.facets({ ...query, by }, COMMAND),
    )
    if (answer !== null) {
      const { total, gpus, sellers, facets, prices, unplaced, suggestions, complete, sources } = answer
      const outliers = answer.outliers || undefined
      const not_counted = answer.notCounted
      const counts = { total, gpus, sellers, outliers, not_counted, facets, prices }
      const summary = describeSummary({ ...counts, sources, copies: answer.copies })
      await printData(
        terminal,
        options,
        { ...counts, summary, unplaced, suggestions, complete, sources },
        () => marketTables(terminal, answer, summary),
      )
    }
    return exitCode
  },
}

async function marketTables(
  terminal: Terminal,
  { facets, prices, gpus }: MergedFacets,
  summary: string,
): Promise<string> {
  const tables = [
    ...(prices.length === 0 ? [] : [priceTable(terminal, prices)]),
    ...Object.entries(facets).map(([name, facet]) => facetTable(terminal, name, facet)),
  ]
  const counted = gpus === 0 ? '' : ` ${plural(gpus, 'GPU')} in all.`
  return [`${safeText(summary)}${counted}\n`, ...(await Promise.all(tables))].join('\n')
}

function priceTable(terminal: Terminal, prices: readonly PriceRangeJson[]): Promise<string> {
  const right = (title: string, cell: (price: PriceRangeJson) => string) =>
    ({ title, align: 'right', minWidth: 10, cell }) as const
  const amount = (title: string, name: 'least' | 'median' | 'most') =>
    right(title, (price) => shortenAmount(readableAmount(price[name], price.symbol !== undefined)))
  return tableText(terminal, prices, [
    {
      title: 'PRICES IN',
      // Rows of one token differ at the end.
      wholeWidth: 40,
      cell: ({ symbol = null, token = '', unit, price_per: per }) => priceBasis({ symbol, token, unit, per }),
    },
    { title: 'ON', cell: networkOf },
    right('OFFERS', ({ offers }) => String(offers)),
    { ...right('GPUS', ({ gpus }) => String(gpus)), dropOrder: 1 },
    amount('LEAST', 'least'),
    amount('MEDIAN', 'median'),
    { ...amount('MOST', 'most'), dropOrder: 2 },
  ])
}

/** The chains of the offers, most offers first. */
const networkOf = ({ chains }: PriceRangeJson): string =>
  chains.length > MAX_CHAINS ? `${chains.length} chains` : chains.map(({ chain }) => chain).join(', ')

const MAX_CHAINS = 3

function facetTable(
  terminal: Terminal,
  name: string,
  { values, other, missing }: FacetJson,
): Promise<string> {
  const rows = [...values]
  if (other > 0) rows.push({ value: '(other values)', count: other })
  if (missing > 0) rows.push({ value: '(no value)', count: missing })
  return tableText(terminal, rows, [
    { title: safeText(name.toUpperCase()), cell: ({ value }) => value },
    { title: 'LISTINGS', align: 'right', cell: ({ count }) => String(count) },
  ])
}
