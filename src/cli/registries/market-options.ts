import { type Command, Option } from 'commander'
import { LISTING_STATUSES } from '../../domain/listing.ts'
import { PRICE_PERS } from '../../domain/price/price-key.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { describeUnknownValues } from '../../filter-spec/allowed-values.ts'
import { repeatWarnings } from '../../filter-spec/parameters.ts'
import type { NearMiss } from '../../gateway/counts/near-misses.ts'
import type { Market } from '../../gateway/market.ts'
import type { MarketQuery } from '../../gateway/market-query.ts'
import { type QuestionTexts, readQuestion } from '../../gateway/read-question.ts'
import type { Report } from '../../gateway/source-report.ts'
import { type DerivedName, isDerivedName } from '../../vocabulary/names.ts'
import {
  addReading,
  type CommandContext,
  collect,
  collectFilled,
  notEmpty,
  once,
  seconds,
} from '../command.ts'
import { type ExitCode, usageError } from '../exit-codes.ts'
import { startProgress } from '../output/progress.ts'
import {
  exitCodeOfReports,
  printBounds,
  printFreshness,
  printNearMisses,
  printSourceReports,
} from '../output/source-reports.ts'
import { printWarning, type Terminal } from '../output/terminal.ts'
import { COMMAND, type Deadlines, openBuyerMarket, settle } from './buyer-market.ts'
import type { RegistryOptions, SelectedRegistries } from './select-registries.ts'

/** Which listings a command reads. */
export type MarketOptions = RegistryOptions & {
  /** `name=value` each. */
  filter?: readonly string[]
  /** `all` for every status. */
  status?: string
  publisher?: string
  gpu?: readonly string[]
  gpus?: string
  vram?: string
  country?: readonly string[]
  continent?: readonly string[]
  token?: string
  maxPrice?: string
  per?: string
  testnet?: boolean
  /** Seconds, for the whole command. */
  deadline?: number
}

const OVERALL_SECONDS = 10
/** Where every listing that matches is read. */
const OVERALL_SECONDS_FOR_ALL = 120

export const addMarketOptions = (command: Command): Command =>
  addReading(command)
    .option(
      '-f, --filter <name=value>',
      'only listings that pass this filter, one of `entrepot filters` (repeatable)',
      collect,
    )
    .addOption(
      new Option(
        '--status <status>',
        'status of the listings (default: open); a gateway has open ones of other Registries alone',
      ).choices([...LISTING_STATUSES, 'all']),
    )
    .option(
      '--gpu <model>',
      'only this model, whatever the spelling; several: A100,H100 (repeatable)',
      collectFilled,
    )
    .option('--gpus <n>', 'only with at least this many GPUs', once)
    .option('--vram <gb>', 'only with at least this much GPU memory in one GPU', once)
    .option('--country <country>', 'only in this country: DE or Germany (repeatable)', collectFilled)
    .option('--continent <continent>', 'only on this continent: EU or Europe (repeatable)', collectFilled)
    .option('--publisher <address>', 'only listings signed by this wallet', once)
    .option(
      '--max-price <amount>',
      'only listings that cost at most this, in whole tokens of --token, or else of the first one that is known: 2.10',
      notEmpty,
    )
    .option(
      '--token <token>',
      'token of the prices: USDC (on every chain), base:USDC or base:ADDRESS',
      notEmpty,
    )
    .option('--testnet', 'with --token: also its tokens of test networks, which are worth nothing')
    .addOption(
      new Option(
        '--per <what>',
        'price of one GPU, of the whole offer, or by the data sheet of a GB of GPU memory or a TFLOP (default: gpu)',
      ).choices(PRICE_PERS),
    )
    .option(
      '--deadline <seconds>',
      `time for the whole command (default: ${OVERALL_SECONDS}, or ${OVERALL_SECONDS_FOR_ALL} where all listings are read)`,
      seconds,
    )

/** @throws CliError or EntrepotError for values that cannot be used */
export function readMarketQuery(
  terminal: Terminal,
  options: MarketOptions,
  tokens: TokenTable,
  { sort, ...door }: { sort?: string | undefined; countsPrices?: boolean; prefersCheapest?: boolean } = {},
): MarketQuery {
  const filters = [...(options.filter ?? []).map(readFilter), ...derivedFilters(options)]
  const named = new Map(filters)
  for (const name of ['limit', 'offset'])
    if (named.has(name)) throw usageError(`--filter ${name}=… is not a filter: use --${name}`)
  for (const { path, message } of repeatWarnings(filters.filter(([name]) => !isDerivedName(name))))
    printWarning(terminal, `${path} is ${message}`)
  // As in the deployed command line, filters named status and publisher are these.
  const { status = options.status, publisher = options.publisher } = Object.fromEntries(filters)
  const texts = {
    status: status === 'all' ? '' : status,
    publisher,
    sort,
    price_token: options.token,
    price_max: options.maxPrice,
    price_per: options.per,
    testnet: options.testnet === true ? 'true' : undefined,
  }
  return readQuestion(texts, {
    filters: filters.filter(([name]) => name !== 'status' && name !== 'publisher'),
    tokens,
    nameOf: (parameter) => OPTIONS[parameter],
    ...door,
  })
}

function derivedFilters(options: MarketOptions): [name: DerivedName, value: string][] {
  const { gpu, gpus, vram, country, continent } = options
  const values = [
    ['gpu', gpu],
    ['gpus_min', gpus === undefined ? gpus : [gpus]],
    ['gpu_memory_gb_min', vram === undefined ? vram : [vram]],
    ['country', country],
    ['continent', continent],
  ] as const
  return values.flatMap(([name, texts = []]) => texts.map((text): [DerivedName, string] => [name, text]))
}

const OPTIONS: Readonly<Record<keyof QuestionTexts, string>> = {
  status: '--status',
  publisher: '--publisher',
  sort: '--sort',
  price_token: '--token',
  price_max: '--max-price',
  price_per: '--per',
  testnet: '--testnet',
}

function readFilter(text: string): [name: string, value: string] {
  const [name = '', ...rest] = text.split('=')
  const value = rest.join('=').trim()
  if (name.trim() === '' || value === '') throw usageError(`--filter must be name=value, not '${text}'`)
  return [name.trim(), value]
}

type Answer = Parameters<typeof printBounds>[1] & {
  copies?: readonly string[]
  sources: readonly Report[]
  nearMisses?: readonly NearMiss[] | undefined
}

/** Prints the progress, how each Registry answered, and which values no listing can have. */
export async function askMarket<A extends Answer>(
  { terminal, openClient }: CommandContext,
  selected: SelectedRegistries,
  deadlines: Deadlines,
  { filters, status }: MarketQuery,
  ask: (market: Market) => Promise<A>,
): Promise<{ answer: A | null; exitCode: ExitCode }> {
  const client = await openClient()
  const progress = startProgress(
    terminal,
    selected.registries.map(({ url }) => url),
  )
  const market = openBuyerMarket(client, selected, {
    deadlines,
    onSettled: ({ url }, isAnswer) => progress.note(url, isAnswer ? '✓' : '✗'),
  })
  const { answer, reports } = await settle(ask(market)).finally(() => progress.stop())
  printSourceReports(terminal, reports)
  if (answer !== null) {
    printBounds(terminal, answer)
    printFreshness(terminal, reports, answer)
    printNearMisses(terminal, answer.nearMisses, selected.tokens)
  }
  if (answer?.total === 0 && filters.length > 0) {
    // Counts are of open listings.
    const descriptions = await market.filters(COMMAND, status === 'open')
    for (const note of describeUnknownValues(descriptions.filters, filters)) printWarning(terminal, note)
  }
  return { answer, exitCode: exitCodeOfReports(reports) }
}

/** @param readsAll whether every listing that matches is read */
export function marketDeadlines(
  discoveryTimeoutMs: number,
  { deadline, discoveryTimeout }: MarketOptions,
  readsAll: boolean,
): Deadlines {
  const seconds = deadline ?? (readsAll ? OVERALL_SECONDS_FOR_ALL : OVERALL_SECONDS)
  const overallMs = deadline === undefined ? Math.max(seconds * 1000, discoveryTimeoutMs) : seconds * 1000
  const registryMs = readsAll && discoveryTimeout === undefined ? overallMs : discoveryTimeoutMs
  return { registryMs: Math.min(registryMs, overallMs), overallMs }
}
