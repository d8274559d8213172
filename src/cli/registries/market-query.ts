import { type Command, Option } from 'commander'
import { isListingStatus, LISTING_STATUSES, type ListingStatus } from '../../domain/listing.ts'
import { PRICE_PERS } from '../../domain/price/price-key.ts'
import { type PriceTexts, parsePriceQuestion } from '../../domain/price/price-parameters.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { addReading, collect, seconds } from '../command.ts'
import { usageError } from '../exit-codes.ts'
import type { Deadlines, RegistryQuery } from './query-registries.ts'
import type { RegistryOptions } from './select-registries.ts'

/** Which listings a command reads. */
export type MarketOptions = RegistryOptions & {
  /** `name=value` each. */
  filter?: readonly string[]
  /** `all` for every status. */
  status?: string
  publisher?: string
  token?: string
  maxPrice?: string
  per?: string
  /** Seconds, for the whole command. */
  deadline?: number
}

const OVERALL_SECONDS = 10
/** Where every listing that matches is read. */
const OVERALL_SECONDS_FOR_ALL = 120

export const addMarketOptions = (command: Command): Command =>
  addReading(command)
    .option('-f, --filter <name=value>', 'only listings that pass this filter (repeatable)', collect)
    .option('--status <status>', 'open, closed, expired or all (default: open)')
    .option('--publisher <address>', 'only listings signed by this wallet')
    .option('--max-price <amount>', 'only listings with a price of at most this many whole tokens of --token')
    .option('--token <token>', 'whose prices compare: USDC on every chain, base:USDC or base:0x8335…')
    .addOption(
      new Option('--per <what>', 'price of one GPU or of the whole offer (default: gpu)').choices(PRICE_PERS),
    )
    .option(
      '--deadline <seconds>',
      `time for the whole command (default: ${OVERALL_SECONDS}, or ${OVERALL_SECONDS_FOR_ALL} where all listings are read)`,
      seconds,
    )

/** @throws CliError or EntrepotError for values that cannot be used */
export function readMarketQuery(
  options: MarketOptions,
  tokens: TokenTable,
  { sort, countsPrices = false }: { sort?: string | undefined; countsPrices?: boolean } = {},
): RegistryQuery {
  const filters = (options.filter ?? []).map(readFilter)
  const named = new Map(filters)
  for (const name of ['limit', 'offset'])
    if (named.has(name)) throw usageError(`--filter ${name}=… is not a filter: use --${name}`)
  const { token, maxPrice, per } = options
  const texts = { sort, price_token: token, price_max: maxPrice, price_per: per }
  return {
    // As in the deployed command line, a filter named status is the status.
    status: readStatus(named.get('status') ?? options.status ?? 'open'),
    publisher: (named.get('publisher') ?? options.publisher)?.toLowerCase() || null,
    filters: filters.filter(([name]) => name !== 'status' && name !== 'publisher'),
    prices: parsePriceQuestion(tokens, texts, { nameOf: (parameter) => OPTIONS[parameter], countsPrices }),
    tokens,
  }
}

const OPTIONS: Readonly<Record<keyof PriceTexts, string>> = {
  sort: '--sort',
  price_token: '--token',
  price_max: '--max-price',
  price_per: '--per',
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

/** @param readsAll whether every listing that matches is read */
export function marketDeadlines(
  discoveryTimeoutMs: number,
  { deadline }: MarketOptions,
  readsAll: boolean,
): Deadlines {
  const seconds = deadline ?? (readsAll ? OVERALL_SECONDS_FOR_ALL : OVERALL_SECONDS)
  const overallMs = deadline === undefined ? Math.max(seconds * 1000, discoveryTimeoutMs) : seconds * 1000
  return { registryMs: readsAll ? overallMs : Math.min(discoveryTimeoutMs, overallMs), overallMs }
}
