import { Option } from 'commander'
import { SORTS } from '../../domain/price/price-parameters.ts'
import { type CommandDefinition, count, seconds } from '../command.ts'
import { usageError } from '../exit-codes.ts'
import { type OutputOptions, printListings } from '../output/print-listings.ts'
import { startProgress } from '../output/progress.ts'
import { exitCodeOfReports, printSourceReports } from '../output/source-reports.ts'
import { printStatus } from '../output/terminal.ts'
import { applyPolicy, type PolicyOptions, policySort, wantsEverything } from '../policy/apply-policy.ts'
import {
  addMarketOptions,
  type MarketOptions,
  marketDeadlines,
  readMarketQuery,
} from '../registries/market-query.ts'
import { queryRegistries } from '../registries/query-registries.ts'
import { type Registry, selectRegistries } from '../registries/select-registries.ts'

type ListingsOptions = MarketOptions &
  OutputOptions &
  PolicyOptions & {
    sort?: string
    limit?: number
    offset?: number
    all?: boolean
  }

const DEFAULT_LIMIT = 50
const MAX_LISTINGS = 2000

export const mergedListingsCommand: CommandDefinition<ListingsOptions> = {
  define: (command) =>
    addMarketOptions(command)
      .addOption(
        new Option(
          '--sort <order>',
          'newest first, or by price: of every listing that matches, cheapest first (default: newest)',
        ).choices(SORTS),
      )
      .option(
        '-l, --limit <n>',
        `maximum number of listings, up to ${MAX_LISTINGS} (default: ${DEFAULT_LIMIT})`,
        count(1),
      )
      .option('-o, --offset <n>', 'number of listings to skip', count(0))
      .addOption(new Option('--all', 'print every listing, without limit').conflicts(['limit']))
      .option(
        '--policy <name|file>',
        'order by cheapest (as --sort price), newest or registry-order, or by the function that a module exports by default',
      )
      .option('--policy-cmd <command>', 'order by a program: JSON array on stdin, JSON array on stdout')
      .option('--policy-timeout <seconds>', 'time for a policy (default: 10)', seconds)
      .addOption(new Option('--table', 'print a table').conflicts(['json', 'ndjson']))
      .addOption(new Option('--json', 'print a JSON array').conflicts(['ndjson']))
      .option('--ndjson', 'print one JSON object per line'),
  example:
    "entrepot listings -r http://127.0.0.1:8080 --filter gpu_model=H200 --filter 'vcpu_count_min=64' --sort price --token USDC --max-price 2.10",
  async run({ terminal, openClient }, options) {
    const { registries, discoveryTimeoutMs, tokens } = selectRegistries(terminal, options)
    const query = readMarketQuery(options, tokens, { sort: options.sort ?? policySort(options) })
    const { sort, limit: ceiling } = query.prices
    const readsAll = options.all === true || sort === 'price' || ceiling !== undefined
    const client = await openClient()
    const progress = startProgress(
      terminal,
      registries.map(({ url }) => url),
    )
    const onSettled = ({ url }: Registry, isAnswer: boolean): void =>
      progress.settle(url, isAnswer ? '✓' : '✗')
    const { answer, reports, failures } = await queryRegistries(
      client,
      registries,
      { ...query, ...readPaging(options) },
      marketDeadlines(discoveryTimeoutMs, options, readsAll),
      { onSettled },
    ).finally(() => progress.stop())
    printSourceReports(terminal, reports, failures)
    if (answer !== null) {
      const { items, total } = answer
      if (wantsEverything(options) && items.length < total)
        printStatus(
          terminal,
          `[policy] it saw ${items.length} of ${total} listings; --all shows it every one`,
        )
      await printListings(terminal, await applyPolicy(terminal, items, options), tokens, options)
    }
    return exitCodeOfReports(reports)
  },
}

function readPaging({ all = false, limit = DEFAULT_LIMIT, offset = 0 }: ListingsOptions) {
  if (all) return { limit: Number.MAX_SAFE_INTEGER - offset, offset }
  if (limit <= MAX_LISTINGS) return { limit, offset }
  throw usageError(`--limit is at most ${MAX_LISTINGS}: use --all to read everything`)
}
