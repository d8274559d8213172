import type { Config } from '../config.ts'
import type { Clock } from '../domain/clock.ts'
import type { NamedSource } from '../domain/reading.ts'
import type { SourceStatus } from '../domain/source-status.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { Cursors } from '../gateway/cursor.ts'
import { createFindListing } from '../gateway/find-listing.ts'
import { createStreamListings } from '../gateway/ndjson.ts'
import { createReadPage } from '../gateway/pages.ts'
import { traceSource } from '../gateway/sources.ts'
import { createReadVocabulary } from '../gateway/vocabulary.ts'
import type { RouteOptions } from '../http/routes.ts'
import type { Upstream } from '../upstream/upstream.ts'

type GatewayParts = {
  config: Pick<Config, 'gateway' | 'cache'>
  spec: FilterSpec
  /** `null` for a pure gateway. */
  local: { source: NamedSource; status: () => SourceStatus } | null
  upstreams: readonly Upstream[]
  clock: Clock
  cursorSecret: string
}

export function openFederation({
  config,
  spec,
  local,
  upstreams,
  clock,
  cursorSecret,
}: GatewayParts): NonNullable<RouteOptions['gateway']> {
  const { id, budgetMs } = config.gateway
  const sources = [...(local === null ? [] : [local.source]), ...upstreams.map(({ source }) => source)].map(
    traceSource,
  )
  const cursors = new Cursors(cursorSecret, () => clock.now() / 1000)
  return {
    gatewayId: id,
    freshSeconds: config.cache.freshSeconds,
    clock,
    sources: [...(local === null ? [] : [local]), ...upstreams],
    vocabulary: createReadVocabulary(
      spec,
      upstreams.map((upstream) => upstream.spec),
    ),
    budgetMs,
    cursorKeyId: cursors.keyId,
    readPage: createReadPage({ sources, budgetMs, clock, cursors }),
    stream: createStreamListings({ sources, budgetMs, clock }),
    find: createFindListing({ sources, budgetMs, clock }),
  }
}
