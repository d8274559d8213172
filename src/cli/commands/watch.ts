import { spawn } from 'node:child_process'
import type { Change } from '../../client/follow-changes.ts'
import { ProblemError } from '../../client/problem-error.ts'
import { plural } from '../../domain/plural.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { safeText } from '../../domain/safe-text.ts'
import type { MarketQuery } from '../../gateway/market-query.ts'
import { renderItem } from '../../gateway/pages/render.ts'
import { at, formatJson, type JsonObject, parseObject, textAt } from '../../json/value.ts'
import { describeAnswered } from '../../wire/describe-answered.ts'
import { describeOutliers } from '../../wire/describe-hints.ts'
import { describeMissing } from '../../wire/describe-missing.ts'
import type { SourceReport } from '../../wire/source.ts'
import { childEnvironment } from '../child-environment.ts'
import { type CommandContext, type CommandDefinition, JSON_OPTION } from '../command.ts'
import { EXIT, type ExitCode, exitCodeOfStatus } from '../exit-codes.ts'
import { isOutlier, priceText, shownPrice } from '../output/price-text.ts'
import { printFailures } from '../output/source-reports.ts'
import {
  escapeForTerminal,
  isHumanOutput,
  print,
  printStatus,
  printText,
  printWarning,
  type Terminal,
} from '../output/terminal.ts'
import { openBuyerMarket, settle } from '../registries/buyer-market.ts'
import { followRegistry, readMatches } from '../registries/follow-registry.ts'
import {
  addMarketOptions,
  type MarketOptions,
  marketDeadlines,
  readMarketQuery,
} from '../registries/market-options.ts'
import { type Registry, type SelectedRegistries, selectRegistries } from '../registries/select-registries.ts'

type WatchOptions = MarketOptions & { exec?: string; json?: boolean }

/** A listing that is new, changed or gone. */
type ListingChange = Extract<Change<JsonObject>, { type: 'listing' | 'removed' }>

export const watchCommand: CommandDefinition<WatchOptions> = {
  summary: 'follow all selected Registries, and print each listing that is new, changed or gone',
  define: (command) =>
    addMarketOptions(command)
      .option('--exec <command>', 'run this command for each change, with the change as JSON on its stdin')
      .option(...JSON_OPTION),
  example: 'entrepot watch -r http://127.0.0.1:8080 --gpu H200 --max-price 2.10 --token USDC',
  async run(context, options) {
    const { terminal } = context
    const selected = selectRegistries(terminal, options)
    const query = readMarketQuery(terminal, options, selected.tokens)
    const start = printStart(context, selected, query, options)
    const watched = { ...selected, query, options, show: printer(terminal, selected, options, start) }
    const watches = selected.registries.map((registry) => watch(context, { ...watched, registry }))
    const [, ...codes] = await Promise.all([start, ...watches])
    return codes.find((code) => code === EXIT.notAuthorized) ?? codes[0] ?? EXIT.ok
  },
}

/** Says how many listings match, and which is the cheapest. @returns prices by `identityOf` */
async function printStart(
  { terminal, openClient }: CommandContext,
  { discoveryTimeoutMs, ...selected }: SelectedRegistries,
  query: MarketQuery,
  options: WatchOptions,
): Promise<Map<string, string>> {
  const deadlines = marketDeadlines(discoveryTimeoutMs, options, false)
  const market = openBuyerMarket(await openClient(), selected, { deadlines })
  const { answer, reports } = await settle(readMatches(market, query))
  printFailures(terminal, reports)
  const items = answer?.items ?? []
  const listings = items.map((merged) => parseObject(renderItem(merged).toString()))
  const prices = listings.map((listing) => priceOf(listing, selected.tokens))
  const outliers = listings.filter(isOutlier).length
  const first = listings.findIndex((one) => at(one, '_meta', 'price') !== null && !isOutlier(one))
  const facts = [
    `${describeAnswered(reports)}: ${plural(items.length, 'listing matches', 'listings match')}`,
    first >= 0 && `the cheapest ${offerOf(listings[first]!, prices[first]!)}`,
    outliers > 0 && `left out: ${describeOutliers(outliers)}`,
  ]
  if (answer !== null) printStatus(terminal, `[registry] ${facts.filter(Boolean).join('; ')}`)
  return new Map(items.map(({ item }, n) => [identityOf(item.listingId, item.publisher), prices[n]!]))
}

/** Of a listing, whichever Registry has it. */
const identityOf = (listingId: string, publisher: string | null): string => `${publisher} ${listingId}`

type Watched = SelectedRegistries & {
  registry: Registry
  query: MarketQuery
  options: WatchOptions
  show: (registry: Registry, change: ListingChange) => Promise<unknown>
}

/** Ends only where the Registry refuses the request. */
async function watch(context: CommandContext, watched: Watched): Promise<ExitCode> {
  const { terminal } = context
  const { registry, query, options, discoveryTimeoutMs, show } = watched
  const client = await context.openClient()
  const deadlines = marketDeadlines(discoveryTimeoutMs, options, true)
  const market = openBuyerMarket(client, { ...watched, registries: [registry] }, { deadlines })
  const onNote = (note: string): void => printStatus(terminal, `[registry] ${registry.url}: ${note}`)
  let outliers = 0
  const followed = { client, registry, timeoutMs: discoveryTimeoutMs, market, onNote }
  try {
    for await (const change of followRegistry(followed, query, searchOf(query, options))) {
      if (change.type === 'source') onNote(describeState(change.source))
      else if (change.type === 'reset')
        onNote('The position is not good any more, so all listings are read again.')
      else if (change.type === 'listing' && isOutlier(change.listing))
        onNote(`Left out so far: ${describeOutliers(++outliers)}.`)
      else await show(registry, change)
    }
    return EXIT.ok
  } catch (failure) {
    if (!(failure instanceof ProblemError)) throw failure
    onNote(failure.detail)
    return exitCodeOfStatus(failure.status)
  }
}

function describeState(source: SourceReport): string {
  const state = source.state === 'stale' ? 'unavailable' : source.state
  return describeMissing({ ...source, state }) ?? `${source.registry} answers.`
}

/** The query as parameters of `GET /changes`. */
function searchOf({ filters, publisher, status, prices }: MarketQuery, options: WatchOptions): string {
  // The first token of the buyer's table need not be the first one of the Registry.
  const { token = prices.limit?.tokens[0]?.symbol, maxPrice, per, testnet } = options
  const texts = {
    status: status === 'open' ? undefined : (status ?? ''),
    publisher: publisher ?? undefined,
    price_token: token,
    price_max: maxPrice,
    price_per: per,
    testnet: testnet === true ? 'true' : undefined,
  }
  const given = Object.entries(texts).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))
  return String(new URLSearchParams([...filters.map(([name, value]) => [name, value]), ...given]))
}

/** Shows one change after the other: lines for people, NDJSON for programs. */
function printer(
  terminal: Terminal,
  { registries, tokens }: SelectedRegistries,
  { exec, json }: WatchOptions,
  start: Promise<Map<string, string>>,
): Watched['show'] {
  let last = start
  const show = async (prices: Map<string, string>, { url }: Registry, change: ListingChange) => {
    const { position: _, ...shown } = change
    const text = formatJson(registries.length > 1 ? { url, ...shown } : shown)
    if (isHumanOutput(terminal, { json })) await printText(terminal, `${lineOf(change, tokens, prices)}\n`)
    else await print(terminal, `${escapeForTerminal(terminal, text)}\n`)
    if (exec !== undefined) await runCommand(terminal, exec, text)
    return prices
  }
  return (registry, change) => {
    last = last.then((prices) => show(prices, registry, change))
    return last
  }
}

/** `21:35:10  new      1.75 USDC/GPU·h  8 × H200  California, US  curated  7f0c1c1e`. */
function lineOf(change: ListingChange, tokens: TokenTable, prices: Map<string, string>): string {
  const time = new Date().toTimeString().slice(0, 8)
  const id = identityOf(change.listing_id, change.publisher)
  const before = prices.get(id)
  if (change.type === 'removed') {
    prices.delete(id)
    const { unchecked = [] } = change
    const rest = unchecked.length > 0 ? `unchecked in ${unchecked.join(', ')}` : ''
    return safeText([time, 'gone   ', before ?? '', change.listing_id, rest].filter(Boolean).join('  '))
  }
  const { listing } = change
  const now = priceOf(listing, tokens)
  prices.set(id, now)
  const isNew = before === undefined && textAt(listing, 'created_at') === textAt(listing, 'updated_at')
  const price = before === undefined || before === now ? now : `${now} (was ${before})`
  return safeText([time, isNew ? 'new    ' : 'changed', offerOf(listing, price)].join('  '))
}

/** What identifies an offer. */
function offerOf(listing: JsonObject, price: string): string {
  const offer = (name: string) => textAt(listing, 'offer_resource', name)
  const gpus = [offer('gpu_count'), offer('gpu_model') ?? offer('service_name')].filter(Boolean).join(' × ')
  const registry = textAt(listing, '_meta', 'registry')
  return [price, gpus, offer('region'), registry, textAt(listing, 'listing_id')].filter(Boolean).join('  ')
}

function priceOf(listing: JsonObject, tokens: TokenTable): string {
  const price = shownPrice(listing, tokens)
  return price === null ? 'no price' : priceText(price)
}

/** A command that fails, or that cannot be started, ends nothing. */
function runCommand(terminal: Terminal, command: string, input: string): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(command, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: childEnvironment(terminal),
    })
    child.on('error', (error) => {
      printWarning(terminal, `--exec could not be started: ${error.message}`)
      resolve()
    })
    child.on('close', (code, signal) => {
      if (code !== 0) printWarning(terminal, `--exec ended with ${signal ?? `exit code ${code}`}`)
      resolve()
    })
    child.stdin.on('error', () => {}) // a command may end without reading everything
    child.stdin.end(`${input}\n`)
  })
}
