import { Option } from 'commander'
import { SORTS } from '../../domain/price/price-parameters.ts'
import { type CommandDefinition, count, seconds, TABLE_OPTION } from '../command.ts'
import { usageError } from '../exit-codes.ts'
import { printListings } from '../output/print-listings.ts'
import { type OutputOptions, printWarning } from '../output/terminal.ts'
import { applyPolicy, type PolicyOptions, policySort, wantsEverything } from '../policy/apply-policy.ts'
import { COMMAND } from '../registries/buyer-market.ts'
import {
  addMarketOptions,
  askMarket,
  type MarketOptions,
  marketDeadlines,
  readMarketQuery,
} from '../registries/market-options.ts'
import { selectRegistries } from '../registries/select-registries.ts'

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

export const listingsCommand: CommandDefinition<ListingsOptions> = {
  summary: 'query all selected Registries at once and print the merged listings',
  define: (command) =>
    addMarketOptions(command)
      .addOption(
        new Option(
          '--sort <order>',
          'newest first, or cheapest first over every listing that matches (default: price where a model or a ceiling is given, else newest)',
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
        'cheapest (as --sort price), newest, registry-order, or the file of a module whose default export orders the listings',
      )
      .option(
        '--policy-cmd <command>',
        'a program that orders the listings: JSON array on stdin, JSON array on stdout',
      )
      .option('--policy-timeout <seconds>', 'time for a policy (default: 10)', seconds)
      .addOption(new Option(...TABLE_OPTION).conflicts(['json', 'ndjson']))
      .addOption(new Option('--json', 'print a JSON array').conflicts(['ndjson']))
      .option('--ndjson', 'print one JSON object per line'),
  example:
    "entrepot listings -r http://127.0.0.1:8080 --gpu H200 --filter 'vcpu_count_min=64' --sort price --token USDC --max-price 2.10",
  async run(context, options) {
    const { terminal } = context
    const selected = selectRegistries(terminal, options)
    const { discoveryTimeoutMs, tokens } = selected
    const sort = policySort(options) ?? options.sort
    const hasPolicy = options.policy !== undefined || options.policyCmd !== undefined
    const query = readMarketQuery(terminal, options, tokens, { sort, prefersCheapest: !hasPolicy })
    const readsAll = options.all === true || sort === 'price' || query.prices.limit !== undefined
    const deadlines = marketDeadlines(discoveryTimeoutMs, options, readsAll)
    const paging = readPaging(options)
    const { answer, exitCode } = await askMarket(context, selected, deadlines, query, (market) =>
      market.page({ ...query, ...paging }, COMMAND),
    )
    if (answer !== null) {
      const { items, total } = answer
      if (wantsEverything(options) && items.length < total)
        printWarning(
          terminal,
          `the policy orders ${items.length} of ${total} listings; with --all it orders all of them`,
        )
      await printListings(terminal, await applyPolicy(terminal, items, options), tokens, options)
    }
    return exitCode
  },
}

function readPaging({ all = false, limit = DEFAULT_LIMIT, offset = 0 }: ListingsOptions) {
  if (all) return { limit: Number.MAX_SAFE_INTEGER - offset, offset }
  if (limit <= MAX_LISTINGS) return { limit, offset }
  throw usageError(`--limit is at most ${MAX_LISTINGS}: use --all to read everything`)
}
