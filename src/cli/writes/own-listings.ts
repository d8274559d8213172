import { coversRegistry } from '../../domain/source/missing-source.ts'
import { EVERYTHING } from '../../gateway/pages/ids-beginning.ts'
import { qualifiedName } from '../../gateway/sources.ts'
import { type JsonObject, parseObject, textAt } from '../../json/value.ts'
import { hasAnswered } from '../../wire/describe-missing.ts'
import type { SourceReport } from '../../wire/source.ts'
import { printSourceReports } from '../output/source-reports.ts'
import type { Terminal } from '../output/terminal.ts'
import { COMMAND, NO_TOKENS, openBuyerMarket, settle } from '../registries/buyer-market.ts'
import { inspectRegistry } from '../registries/inspect-registry.ts'
import type { RegistryClient } from '../registries/registry-client.ts'
import type { Registry } from '../registries/select-registries.ts'

export type OwnListing = {
  /** As the Registry serves it. */
  listing: JsonObject
  bytes: Buffer
  listingId: string
  status: string
  /** The Registry, or the gateway and its source. */
  registry: string
  /** Whether the Registry that was asked keeps it, not one that it fronts. */
  isLocal: boolean
}

type OwnListings = {
  listings: readonly OwnListing[]
  reports: readonly SourceReport[]
  /** Whether no listing of the Registry that was asked can be missing, whatever is away behind it. */
  isComplete: boolean
}

/** For all pages of one Registry. */
const READ_SECONDS = 120

/** Of any status, newest first. Prints how the Registry answered. */
export async function readOwnListings(
  terminal: Terminal,
  client: RegistryClient,
  registry: Registry,
  address: string,
  seconds = READ_SECONDS,
): Promise<OwnListings> {
  const timeoutMs = seconds * 1000
  const deadlines = { registryMs: timeoutMs, overallMs: timeoutMs }
  const selected = { registries: [registry], tokens: NO_TOKENS }
  const market = openBuyerMarket(client, selected, { deadlines, maxListings: Number.POSITIVE_INFINITY })
  const query = { ...EVERYTHING, publisher: address, limit: Number.MAX_SAFE_INTEGER, offset: 0 }
  const { answer, reports: all } = await settle(market.page(query, COMMAND))
  // A gateway holds no other listings of the Registries behind it.
  const reports = all.filter(({ reason }) => reason !== 'open_only')
  printSourceReports(terminal, reports)
  const items = answer?.items ?? []
  const isGateway = answer?.complete === false || items.some(({ item }) => item.origin !== undefined)
  const localName = isGateway ? await nameOfLocalSource(client, registry, timeoutMs) : null
  const local = `${registry.url}/${localName}`
  const missing = reports.filter(({ state }) => !hasAnswered(state))
  const isComplete =
    localName === null ? answer?.complete === true : !missing.some((one) => coversRegistry(one, local))
  const listings = items.map(({ item, bytes }) => {
    const text = Buffer.from(bytes)
    const listing = parseObject(text.toString('utf8'))
    return {
      listing,
      bytes: text,
      listingId: item.listingId,
      status: textAt(listing, 'status') ?? '',
      registry: qualifiedName(registry.url, item),
      isLocal: item.origin === undefined || item.origin.registry === localName,
    }
  })
  return { listings, reports, isComplete }
}

/** `null` for a gateway without a Registry of its own. */
async function nameOfLocalSource(
  client: RegistryClient,
  registry: Registry,
  timeoutMs: number,
): Promise<string | null> {
  const inspection = await inspectRegistry(client, registry, timeoutMs)
  if ('error' in inspection) return null
  const local = inspection.sources.find((source) => textAt(source, 'mode') === 'local')
  return textAt(local, 'registry')
}
