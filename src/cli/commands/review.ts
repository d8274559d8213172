import { SourceError } from '../../domain/source/source-error.ts'
import { type JsonObject, textAt } from '../../json/value.ts'
import { buildRecord, UnpresentableError } from '../../presentation/build-record.ts'
import { NO_STOREFRONT_ANSWER, type StorefrontView } from '../../presentation/observation.ts'
import { addReading, type CommandDefinition, LISTING_ARGUMENT } from '../command.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { parseListingJson } from '../listing-json.ts'
import { printJson, printStatus, type Terminal } from '../output/terminal.ts'
import { lookUpListing } from '../registries/look-up-listing.ts'
import { describeErrorResponse, type RegistryClient, readJsonObject } from '../registries/registry-client.ts'
import { type Registry, type RegistryOptions, selectRegistries } from '../registries/select-registries.ts'

export const reviewCommand: CommandDefinition<RegistryOptions> = {
  define: (command) => addReading(command).argument(...LISTING_ARGUMENT),
  example: 'entrepot review weather-0001 -r http://127.0.0.1:8080',
  async run(context, options, [id = '']) {
    const { terminal } = context
    const selected = selectRegistries(terminal, options)
    const { client, found, exitCode } = await lookUpListing(context, selected, id)
    if (found === null) return exitCode
    const { row, registry } = found
    const listing = parseListingJson(row)
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
      await printJson(terminal, record)
      return exitCode
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
    warn(storefront ?? 'none named', 'not an http URL')
    return NO_STOREFRONT_ANSWER
  }
  const get = async (path: string): Promise<JsonObject | null> => {
    const url = `${base.origin}${base.pathname.replace(/\/+$/, '')}/api/v1${path}`
    try {
      const response = await client.send({ method: 'GET', url, key: null, timeoutMs, referredBy: registry })
      if (response.status === 200) return readJsonObject(response)
      warn(url, describeErrorResponse(response))
    } catch (cause) {
      if (!(cause instanceof SourceError)) throw cause
      warn(url, cause.reason)
    }
    return null
  }
  const [status, listing] = await Promise.all([
    get('/system/status'),
    get(`/listings/${encodeURIComponent(id)}`),
  ])
  return { status, listing }
}
