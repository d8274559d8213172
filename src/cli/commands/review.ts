import { SourceError } from '../../domain/source/source-error.ts'
import { renderItem } from '../../gateway/envelope.ts'
import { isJsonObject, type JsonObject, parseObject, textAt } from '../../json/value.ts'
import { buildRecord, UnpresentableError } from '../../presentation/build-record.ts'
import { NO_STOREFRONT_ANSWER, type StorefrontView } from '../../presentation/observation.ts'
import { describeReason } from '../../wire/describe-missing.ts'
import { addReading, type CommandDefinition, JSON_OPTION, LISTING_ARGUMENT } from '../command.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { listingSheet } from '../output/print-listings.ts'
import { printData, printStatus, type Terminal } from '../output/terminal.ts'
import { lookUpListing } from '../registries/look-up-listing.ts'
import { describeErrorResponse, type RegistryClient, readJson } from '../registries/registry-client.ts'
import { type JsonOptions, type Registry, selectRegistries } from '../registries/select-registries.ts'

export const reviewCommand: CommandDefinition<JsonOptions> = {
  summary: 'print the presentation record of a listing, built from its Registry and its storefront',
  define: (command) =>
    addReading(command)
      .argument(...LISTING_ARGUMENT)
      .option(...JSON_OPTION),
  example: 'entrepot review weather-0001 -r http://127.0.0.1:8080',
  async run(context, options, [id = '']) {
    const { terminal } = context
    const selected = selectRegistries(terminal, options)
    const { client, lookup, exitCode } = await lookUpListing(context, selected, id)
    if (lookup === null) return exitCode
    const { item, registry } = lookup
    const row = renderItem(item).toString()
    const listing = parseObject(row)
    const storefront = textAt(listing, 'storefront_url')
    const listingId = textAt(listing, 'listing_id') ?? id
    const view = await visit(terminal, client, {
      storefront,
      id: listingId,
      registry,
      timeoutMs: selected.discoveryTimeoutMs,
    })
    const publisher = textAt(listing, '_meta', 'publisher')
    try {
      const record = buildRecord({ listing, registry: registry.url, publisher }, view)
      await printData(terminal, options.json, record, () => listingSheet(row, selected.tokens, record))
      return view.status === null || view.listing === null ? EXIT.partial : exitCode
    } catch (cause) {
      if (!(cause instanceof UnpresentableError)) throw cause
      throw new CliError(EXIT.badData, `listing ${id} cannot be reviewed: ${cause.message}`, { cause })
    }
  },
}

type Visit = { storefront: string | null; id: string; registry: Registry; timeoutMs: number }

/** Steps that the storefront does not show stay `not-started`. */
async function visit(
  terminal: Terminal,
  client: RegistryClient,
  { storefront, id, registry, timeoutMs }: Visit,
): Promise<StorefrontView> {
  const warn = (url: string, problem: string): void =>
    printStatus(terminal, `[storefront] ${url}: ${problem}; its steps are shown as not-started`)
  const base = URL.parse(storefront ?? '')
  if (base === null || !['http:', 'https:'].includes(base.protocol)) {
    warn(storefront ?? 'no URL', storefront === null ? 'the listing names no storefront' : 'not an http URL')
    return NO_STOREFRONT_ANSWER
  }
  const get = async (path: string): Promise<JsonObject | null> => {
    const url = `${base.origin}${base.pathname.replace(/\/+$/, '')}/api/v1${path}`
    try {
      const response = await client.send({ method: 'GET', url, key: null, timeoutMs, referredBy: registry })
      const body = readJson(response)
      if (response.status === 200 && isJsonObject(body)) return body
      warn(url, response.status === 200 ? 'the answer is not a JSON object' : describeErrorResponse(response))
    } catch (cause) {
      if (!(cause instanceof SourceError)) throw cause
      warn(url, `it ${describeReason(cause.reason)} (${cause.reason})`)
    }
    return null
  }
  const [status, listing] = await Promise.all([
    get('/system/status'),
    get(`/listings/${encodeURIComponent(id)}`),
  ])
  return { status, listing }
}
