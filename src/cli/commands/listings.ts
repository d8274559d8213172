import { Option } from 'commander'
import { isListingStatus, LISTING_STATUSES, type ListingStatus } from '../../domain/listing.ts'
import { addReading, type CommandDefinition, collect, count, seconds } from '../command.ts'
import { usageError } from '../exit-codes.ts'
import { type OutputOptions, printListings } from '../output/print-listings.ts'
import { startProgress } from '../output/progress.ts'
import { exitCodeOfReports, printSourceReports } from '../output/source-reports.ts'
import { applyPolicy, type PolicyOptions } from '../policy/apply-policy.ts'
import { type Deadlines, queryRegistries, type RegistryQuery } from '../registries/query-registries.ts'
import { type Registry, type RegistryOptions, selectRegistries } from '../registries/select-registries.ts'

type ListingsOptions = RegistryOptions &
  OutputOptions &
  PolicyOptions & {
    /** `name=value` each. */
    filter?: readonly string[]
    /** `all` for every status. */
    status?: string
    publisher?: string
    limit?: number
    offset?: number
    all?: boolean
    /** Seconds, for the whole command. */
    deadline?: number
  }

const DEFAULT_LIMIT = 50
const MAX_LISTINGS = 2000
const OVERALL_SECONDS = 10
const OVERALL_SECONDS_FOR_ALL = 120

export const mergedListingsCommand: CommandDefinition<ListingsOptions> = {
  define: (command) =>
    addReading(command)
      .option('-f, --filter <name=value>', 'only listings that pass this filter (repeatable)', collect)
      .option('--status <status>', 'open, closed, expired or all (default: open)')
      .option('--publisher <address>', 'only listings signed by this wallet')
      .option(
        '-l, --limit <n>',
        `maximum number of listings, up to ${MAX_LISTINGS} (default: ${DEFAULT_LIMIT})`,
        count(1),
      )
      .option('-o, --offset <n>', 'number of listings to skip', count(0))
      .option('--all', 'print every listing, without limit')
      .option('--deadline <seconds>', 'time for the whole command (default: 10, with --all 120)', seconds)
      .option(
        '--policy <name|file>',
        'order by cheapest, newest or registry-order, or by the function that a module exports by default',
      )
      .option('--policy-cmd <command>', 'order by a program: JSON array on stdin, JSON array on stdout')
      .option('--policy-timeout <seconds>', 'time for a policy (default: 10)', seconds)
      .addOption(new Option('--table', 'print a table').conflicts(['json', 'ndjson']))
      .addOption(new Option('--json', 'print a JSON array').conflicts(['ndjson']))
      .option('--ndjson', 'print one JSON object per line'),
  example:
    "entrepot listings -r http://127.0.0.1:8080 --filter gpu_model=H200 --filter 'vcpu_count_min=64' --policy cheapest",
  async run({ terminal, openClient }, options) {
    const query = readQuery(options)
    const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
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
      query,
      deadlines(discoveryTimeoutMs, options),
      { onSettled },
    ).finally(() => progress.stop())
    printSourceReports(terminal, reports, failures)
    if (answer !== null)
      await printListings(terminal, await applyPolicy(terminal, answer.items, options), options)
    return exitCodeOfReports(reports)
  },
}

function readQuery(options: ListingsOptions): RegistryQuery {
  const filters = (options.filter ?? []).map(readFilter)
  const named = new Map(filters)
  for (const name of ['limit', 'offset'])
    if (named.has(name)) throw usageError(`--filter ${name}=… is not a filter: use --${name}`)
  const { all = false, offset = 0 } = options
  const limit = all ? Number.MAX_SAFE_INTEGER - offset : (options.limit ?? DEFAULT_LIMIT)
  if (!all && limit > MAX_LISTINGS)
    throw usageError(`--limit is at most ${MAX_LISTINGS}: use --all to read everything`)
  return {
    // As in the deployed command line, a filter named status is the status.
    status: readStatus(named.get('status') ?? options.status ?? 'open'),
    publisher: (named.get('publisher') ?? options.publisher)?.toLowerCase() || null,
    filters: filters.filter(([name]) => name !== 'status' && name !== 'publisher'),
    limit,
    offset,
  }
}

function readFilter(text: string): [name: string, value: string] {
  const [name = '', ...rest] = text.split('=')
  const value = rest.join('=').trim()
  if (name.trim() === '' || value === '') throw usageError(`Invalid --filter '${text}'; expected name=value.`)
  return [name.trim(), value]
}

function readStatus(status: string): ListingStatus | null {
  if (status === 'all' || status === '') return null
  if (isListingStatus(status)) return status
  throw usageError(`--status must be one of ${LISTING_STATUSES.join(', ')} or all, not '${status}'`)
}

function deadlines(discoveryTimeoutMs: number, { all = false, deadline }: ListingsOptions): Deadlines {
  const seconds = deadline ?? (all ? OVERALL_SECONDS_FOR_ALL : OVERALL_SECONDS)
  const overallMs = deadline === undefined ? Math.max(seconds * 1000, discoveryTimeoutMs) : seconds * 1000
  return { registryMs: all ? overallMs : Math.min(discoveryTimeoutMs, overallMs), overallMs }
}
