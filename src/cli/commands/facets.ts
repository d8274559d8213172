import { plural } from '../../domain/plural.ts'
import { readableAmount } from '../../domain/price/readable-amount.ts'
import { safeText } from '../../domain/safe-text.ts'
import { facetFields, MAX_FACETS, type MergedFacets } from '../../gateway/facets.ts'
import type { FacetJson, PriceRangeJson } from '../../wire/facets.ts'
import { type CommandDefinition, collect, JSON_OPTION } from '../command.ts'
import { priceBasis } from '../output/price-text.ts'
import { startProgress } from '../output/progress.ts'
import { exitCodeOfReports, printSourceReports } from '../output/source-reports.ts'
import { renderTable } from '../output/table.ts'
import { printData } from '../output/terminal.ts'
import {
  addMarketOptions,
  type MarketOptions,
  marketDeadlines,
  readMarketQuery,
} from '../registries/market-query.ts'
import { countInRegistries } from '../registries/query-registries.ts'
import { type Registry, selectRegistries, splitList } from '../registries/select-registries.ts'

type FacetsOptions = MarketOptions & { by?: readonly string[]; json?: boolean }

export const facetsCommand: CommandDefinition<FacetsOptions> = {
  define: (command) =>
    addMarketOptions(command)
      .option(
        '--by <names>',
        `filters whose values are counted, up to ${MAX_FACETS}, or registry (default: gpu_model, service_name, region, registry)`,
        collect,
      )
      .option(...JSON_OPTION),
  example: 'entrepot facets -r http://127.0.0.1:8080 --by gpu_model,region --token USDC --max-price 2.10',
  async run({ terminal, openClient }, options) {
    const { registries, discoveryTimeoutMs, tokens } = selectRegistries(terminal, options)
    const query = readMarketQuery(options, tokens, { countsPrices: true })
    const names = options.by === undefined ? null : splitList(options.by)
    const client = await openClient()
    const progress = startProgress(
      terminal,
      registries.map(({ url }) => url),
    )
    const onSettled = ({ url }: Registry, isAnswer: boolean): void =>
      progress.settle(url, isAnswer ? '✓' : '✗')
    const { answer, reports, failures } = await countInRegistries(
      client,
      registries,
      { ...query, by: (filters) => facetFields(names, filters) },
      marketDeadlines(discoveryTimeoutMs, options, true),
      { onSettled },
    ).finally(() => progress.stop())
    printSourceReports(terminal, reports, failures)
    if (answer !== null) {
      const { outcomes: _, ...market } = answer
      await printData(terminal, options.json, market, () => marketTables(answer, terminal.stdout.columns))
    }
    return exitCodeOfReports(reports)
  },
}

async function marketTables({ total, facets, prices }: MergedFacets, columns: number): Promise<string> {
  const width = columns || 80
  const tables = [
    ...(prices.length === 0 ? [] : [await priceTable(prices, width)]),
    ...(await Promise.all(Object.entries(facets).map(([name, facet]) => facetTable(name, facet, width)))),
  ]
  return `${[[plural(total, 'listing')], ...tables].map((lines) => `${lines.join('\n')}\n`).join('\n')}`
}

function priceTable(prices: readonly PriceRangeJson[], width: number): Promise<string[]> {
  const titles = ['PRICES IN', 'ON', 'OFFERS', 'GPUS', 'LEAST', 'MEDIAN', 'MOST']
  const rows = prices.map(({ chain, token, symbol = null, unit, price_per: per, ...range }) => {
    const { offers, gpus, least, median, most } = range
    const amounts = [least, median, most].map((amount) => readableAmount(amount, symbol !== null))
    const basis = priceBasis({ symbol, token, unit, per })
    return [basis, chain, String(offers), String(gpus), ...amounts].map(safeText)
  })
  return renderTable(
    titles.map((title, n) => ({ title, align: n < 2 ? 'left' : 'right', minWidth: n < 2 ? 4 : 10 })),
    rows,
    width,
  )
}

function facetTable(name: string, { values, other, missing }: FacetJson, width: number): Promise<string[]> {
  const rows = values.map(({ value, count }) => [safeText(value), String(count)])
  if (other > 0) rows.push(['(other values)', String(other)])
  if (missing > 0) rows.push(['(no value)', String(missing)])
  const columns = [{ title: safeText(name.toUpperCase()) }, { title: 'LISTINGS', align: 'right' }] as const
  return renderTable(columns, rows, width)
}
