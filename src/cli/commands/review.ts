import { Option } from 'commander'
import { SourceError } from '../../domain/source/source-error.ts'
import { renderItem } from '../../gateway/pages/render.ts'
import { at, isJsonObject, type JsonObject, type JsonValue, parseObject, textAt } from '../../json/value.ts'
import { describeReason } from '../../wire/describe-missing.ts'
import {
  addReading,
  type CommandDefinition,
  JSON_OPTION,
  LISTING_ARGUMENT,
  TABLE_OPTION,
} from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { presentationOf } from '../output/presentation-record.ts'
import { allPrices, priceText } from '../output/price-text.ts'
import { longestRent, yamlText } from '../output/print-listings.ts'
import { type OutputOptions, printData, printStatus, type Terminal } from '../output/terminal.ts'
import { lookUpListing } from '../registries/look-up-listing.ts'
import {
  type ApiRequest,
  describeErrorResponse,
  type RegistryClient,
  readJson,
} from '../registries/registry-client.ts'
import { type RegistryOptions, selectRegistries } from '../registries/select-registries.ts'

export const reviewCommand: CommandDefinition<RegistryOptions & OutputOptions> = {
  summary:
    'ask the storefront of a listing whether it is still free, and print that with its terms; as JSON its presentation record',
  define: (command) =>
    addReading(command)
      .argument(...LISTING_ARGUMENT)
      .addOption(new Option(...TABLE_OPTION).conflicts(['json']))
      .option(...JSON_OPTION),
  example: 'entrepot review weather-0001 -r http://127.0.0.1:8080',
  async run(context, options, [id = '']) {
    const { terminal } = context
    const selected = selectRegistries(terminal, options)
    const { client, lookup, exitCode } = await lookUpListing(context, selected, id)
    if (lookup === null) return exitCode
    const { item, registry } = lookup
    const listing = parseObject(renderItem(item).toString())
    const storefront = textAt(listing, 'storefront_url')
    const listingId = textAt(listing, 'listing_id') ?? id
    const referredBy = { url: registry.url, fronts: textAt(listing, '_meta', 'registry') !== registry.url }
    const visited = { storefront, id: listingId, referredBy, timeoutMs: selected.discoveryTimeoutMs }
    const spec = client.spec(registry, selected.discoveryTimeoutMs)
    const [view] = await Promise.all([visit(terminal, client, visited), spec.load()])
    const publisher = textAt(listing, '_meta', 'publisher')
    const word = { is_free: isFree(listing, view), ...termsOf(view) }
    const record = presentationOf(listing, {
      registry: textAt(listing, '_meta', 'registry') ?? registry.url,
      // A gateway's filter spec is of its own Registry alone.
      schema: referredBy.fronts ? null : (spec.current?.schemaId ?? null),
      publisher,
      storefront: { ...word, seller: textAt(view.status, 'agent_id') },
      tokens: selected.tokens,
    })
    await printData(terminal, options, record, () =>
      yamlText({
        listing_id: listingId,
        registry: textAt(listing, '_meta', 'registry'),
        seller: publisher,
        status: textAt(listing, 'status'),
        prices: allPrices(listing, selected.tokens).map(priceText),
        longest_rent: longestRent(listing),
        storefront,
        ...word,
      }),
    )
    return view.status === null || view.listing === null ? EXIT.partial : exitCode
  },
}

/** Public answers of a storefront; `null` where it did not answer. docs/protocol.md#11-storefronts */
type StorefrontView = {
  /** `GET /api/v1/system/status` */
  status: JsonObject | null
  /** `GET /api/v1/listings/{id}` */
  listing: JsonObject | null
}

/** `null` where the storefront does not say. */
function isFree({ status }: JsonObject, { status: shop, listing }: StorefrontView): boolean | null {
  const isClosed = status !== 'open' || (textAt(listing, 'status') ?? 'open') !== 'open'
  if (isClosed || shop?.paused === true || listing?.paused === true) return false
  return shop === null || listing === null ? null : true
}

/** A listed price is taken or left, unless the storefront has a strategy. */
function termsOf({ status }: StorefrontView) {
  const strategy = textAt(status, 'checks', 'negotiation_strategy') ?? ''
  return {
    negotiates: status === null ? null : strategy !== '' && strategy !== 'unconfigured',
    resources: countOf(at(status, 'resource_count')),
  }
}

const countOf = (value: JsonValue): number | null =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null

type Visit = Required<Pick<ApiRequest, 'referredBy' | 'timeoutMs'>> & {
  storefront: string | null
  id: string
}

async function visit(
  terminal: Terminal,
  client: RegistryClient,
  { storefront, id, referredBy, timeoutMs }: Visit,
): Promise<StorefrontView> {
  const warn = (url: string, problem: string): void =>
    printStatus(terminal, `[storefront] ${url}: ${problem}; what it would say is null`)
  const base = URL.parse(storefront ?? '')
  if (base === null || !['http:', 'https:'].includes(base.protocol)) {
    warn(storefront ?? 'no URL', storefront === null ? 'the listing names no storefront' : 'not an http URL')
    return { status: null, listing: null }
  }
  const get = async (path: string): Promise<JsonObject | null> => {
    const url = `${base.origin}${base.pathname.replace(/\/+$/, '')}/api/v1${path}`
    try {
      const response = await client.send({ method: 'GET', url, key: null, timeoutMs, referredBy })
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
