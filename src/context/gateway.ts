import type { Config } from '../config/config.ts'
import type { Clock } from '../domain/clock.ts'
import type { Holding } from '../domain/source/holding.ts'
import type { SourceStatus } from '../domain/source/source-status.ts'
import { inTurns } from '../domain/turns.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import type { ChangeFeed } from '../gateway/changes/change-feed.ts'
import { coveredBy } from '../gateway/current-spec.ts'
import { openMarket } from '../gateway/market.ts'
import type { MarketSource } from '../gateway/market-settings.ts'
import { Cursors } from '../gateway/pages/cursor.ts'
import { createReaders } from '../gateway/readers.ts'
import { type Curation, rulesKey } from '../gateway/rules.ts'
import { noteOnHealth } from '../gateway/source-report.ts'
import { standingFilter } from '../gateway/standing-filter.ts'
import { createContentTag } from '../http/etag.ts'
import type { Gateway } from '../http/routes/listings.ts'
import type { CopyIndex } from '../listing-index/copy-index.ts'
import { localStatus, ownHolding } from '../registry/own-holding.ts'
import type { Replica } from '../registry/replica.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { curationRules } from './curation-rules.ts'

/** `null` for a pure gateway. */
type LocalRegistry = { source: Holding; status: () => SourceStatus } | null

export function createLocal(
  { config, spec, replica }: { config: Config; spec: FilterSpec; replica: Replica },
  clock: Clock,
): LocalRegistry {
  const { name, enabled } = config.registry
  if (!enabled) return null
  return { source: ownHolding(name, replica, clock), status: localStatus(name, spec, replica) }
}

export type GatewayOptions = {
  config: Pick<Config, 'gateway' | 'cache' | 'tokens' | 'vocabulary'> &
    Partial<Pick<Config, 'access' | 'curation' | 'views'>>
  spec: FilterSpec
  local: LocalRegistry
  upstreams: readonly Upstream[]
  clock: Clock
  cursorSecret: string
  index: CopyIndex
  /** Of readers of the signed line. Default: no. */
  isSigned?: boolean
  /** Absent: changes are not followed. */
  feed?: ChangeFeed
  /** Absent: the operator leaves nothing out. */
  blocks?: Pick<Curation, 'blocks' | 'onChange'>
}

export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, spec, local, upstreams, clock, cursorSecret, feed, blocks } = options
  const { id: gatewayId, budgetMs } = config.gateway
  const derived = config.vocabulary.filters(spec.filters)
  const filters = new Map([...spec.filters, ...derived.map((filter) => [filter.name, filter] as const)])
  const names = upstreams.map(({ source }) => source.name)
  const rules = config.curation ? curationRules(config.curation, { filters, upstreams: names }) : []
  const all = [...(local === null ? [] : [local]), ...upstreams]
  const specs = [...(local === null ? [] : [undefined]), ...upstreams.map(specOf)]
  const market = await inTurns(
    openMarket({
      index: options.index,
      isSigned: options.isSigned === true,
      sources: all.map(({ source, status }, n) => ({
        ...source,
        spec: specs[n],
        health: () => noteOnHealth(status()),
      })),
      spec,
      gatewayId,
      tokens: config.tokens,
      vocabulary: config.vocabulary,
      announcesPrivate: config.access?.announcePrivate === true,
      budgetMs,
      clock,
      ...(feed && { feed }),
      curation: blocks && { rules, ...blocks },
      cursors: new Cursors(cursorSecret, () => clock.now() / 1000),
    }),
  )
  const { freshSeconds } = config.cache
  const readers = createReaders({
    sources: all.map(({ source }) => source),
    rulesOf: (source) => rulesKey(rules, source),
    tables: [spec.etag, JSON.stringify(config.tokens.all), config.vocabulary.tables.version],
    views: config.views?.map(({ name, sources, filter, placeOf, ...limits }) => ({
      name,
      sources,
      filter: standingFilter(filters, filter, placeOf),
      limits: { requestsPerMinute: limits.requestsPerMinute, maxWatchers: limits.maxWatchersPerReader },
    })),
    access: config.access,
  })
  const contentTag = createContentTag(cursorSecret)
  const documented = upstreams.length === 0 ? coveredBy(spec.filters.values(), derived) : derived
  return {
    market,
    readers,
    spec,
    derived: documented,
    gatewayId,
    freshSeconds,
    clock,
    contentTag,
    sources: all,
  }
}

/** Readers wait for the first answer only. */
function specOf({ spec }: Upstream): NonNullable<MarketSource['spec']> {
  let isLoaded = false
  void spec.loaded.then(() => {
    isLoaded = true
  })
  return {
    get current() {
      return spec.current
    },
    get failure() {
      return spec.failure
    },
    load: () => {
      void spec.load()
      return isLoaded ? null : spec.loaded
    },
  }
}
