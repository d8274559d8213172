import { plural } from '../../domain/plural.ts'
import { readableAmount } from '../../domain/price/price-key.ts'
import { safeText } from '../../domain/safe-text.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import { facetFields, MAX_FACETS, type MergedFacets } from '../../gateway/facets.ts'
import type { FacetJson, PriceRangeJson } from '../../wire/facets.ts'
import { type CommandDefinition, collect, JSON_OPTION } from '../command.ts'
import { priceBasis } from '../output/price-text.ts'
import { tableText } from '../output/table.ts'
import { printData, type Terminal } from '../output/terminal.ts'
import {
  addMarketOptions,
  askMarket,
  type MarketOptions,
  marketDeadlines,
  readMarketQuery,
} from '../registries/market-query.ts'
import { countInRegistries } from '../registries/query-registries.ts'
import { selectRegistries, splitList } from '../registries/select-registries.ts'

type FacetsOptions = MarketOptions & { by?: readonly string[]; json?: boolean }

export const facetsCommand: CommandDefinition<FacetsOptions> = {
  summary: 'count the listings per value, and print their prices per token',
  define: (command) =>
    addMarketOptions(command)
      .option(
        '--by <names>',
        `filters whose values are counted, up to ${MAX_FACETS}, or registry (default: gpu_model, service_name, region, registry)`,
        collect,
      )
      .option(...JSON_OPTION),
  example: 'entrepot facets -r http://127.0.0.1:8080 --by gpu_model,region --token USDC --max-price 2.10',
  async run(context, options) {
    const { terminal } = context
    const selected = selectRegistries(terminal, options)
    const names = options.by === undefined ? null : splitList(options.by)
    const by = (filters: ReadonlyMap<string, Filter>) => facetFields(names, filters)
    const query = readMarketQuery(terminal, options, selected.tokens, { countsPrices: true })
    const { answer, exitCode } = await askMarket(context, selected, query, (client, settled) =>
      countInRegistries(
        client,
        selected.registries,
        { ...query, by },
        marketDeadlines(selected.discoveryTimeoutMs, options, true),
        settled,
      ),
    )
    if (answer !== null) {
      const { outcomes: _, ...market } = answer
      await printData(terminal, options.json, market, () => marketTables(terminal, answer))
    }
    return exitCode
  },
}

async function marketTables(terminal: Terminal, { total, facets, prices }: MergedFacets): Promise<string> {
  const tables = [
    ...(prices.length === 0 ? [] : [priceTable(terminal, prices)]),
    ...Object.entries(facets).map(([name, facet]) => facetTable(terminal, name, facet)),
  ]
  return [`${plural(total, 'listing')}\n`, ...(await Promise.all(tables))].join('\n')
}

function priceTable(terminal: Terminal, prices: readonly PriceRangeJson[]): Promise<string> {
  const titles = ['PRICES IN', 'ON', 'OFFERS', 'GPUS', 'LEAST', 'MEDIAN', 'MOST']
  const rows = prices.map(({ chain, token, symbol = null, unit, price_per: per, ...range }) => {
    const { offers, gpus, least, median, most } = range
    const amounts = [least, median, most].map((amount) => readableAmount(amount, symbol !== null))
    return [priceBasis({ symbol, token, unit, per }), chain, String(offers), String(gpus), ...amounts]
  })
  const columns = titles.map(
    (title, n) =>
      ({
        title,
        align: n < 2 ? 'left' : 'right',
        minWidth: n < 2 ? 4 : 10,
      }) as const,
  )
  return tableText(terminal, columns, rows)
}

function facetTable(
  terminal: Terminal,
  name: string,
  { values, other, missing }: FacetJson,
): Promise<string> {
  const rows = values.map(({ value, count }) => [value, String(count)])
  if (other > 0) rows.push(['(other values)', String(other)])
  if (missing > 0) rows.push(['(no value)', String(missing)])
  const columns = [{ title: safeText(name.toUpperCase()) }, { title: 'LISTINGS', align: 'right' }] as const
  return tableText(terminal, columns, rows)
}
