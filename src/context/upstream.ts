import type { Config } from '../config.ts'
import type { Source } from '../domain/page.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { requireSchema } from '../gateway/plan.ts'
import { createSnapshotSource } from '../gateway/snapshot-source.ts'
import { createUpstreamSource, type UpstreamSource } from '../gateway/upstream-source.ts'
import { createAgent } from '../upstream/agent.ts'
import { fetchInTurn } from '../upstream/fetch-in-turn.ts'
import { type FetchListings, fetchListings } from '../upstream/fetch-listings.ts'
import { fetchFilterSpec } from '../upstream/filter-spec.ts'
import { type Get, getFrom } from '../upstream/get.ts'
import { PublisherBook } from '../upstream/publisher-book.ts'
import { fetchPublishers } from '../upstream/publishers.ts'
import { type Pull, pullListings } from '../upstream/pull-listings.ts'
import { readListings } from '../upstream/read-listings.ts'
import { SpecKeeper } from '../upstream/spec-keeper.ts'
import { tracedFetch } from '../upstream/traced-fetch.ts'
import { withGaps } from '../upstream/with-gaps.ts'
import { withPublishers } from '../upstream/with-publishers.ts'
import { Closers } from './closers.ts'
import type { Foundation } from './foundation.ts'
import type { HandedOver } from './keeping.ts'
import type { Opened } from './shared-parts.ts'
import type { Sharing } from './sharing.ts'
import type { Vocabularies } from './upstreams.ts'

export type OpenUpstreamOptions = {
  upstream: UpstreamOptions
  config: Config
  foundation: Foundation
  sharing: Sharing
  keeping: HandedOver
  /** What snapshots are indexed by, and where it adds its own. */
  vocabularies: Vocabularies
}

export type OpenUpstream = {
  source: UpstreamSource
  /** Of one that is to be pulled: whether it was, once. */
  wasTried: () => boolean
  /** Resolves when it was asked for its filter spec, and pulled where it is to be; with whatever outcome. */
  tried: () => Promise<void>
}

/** Composition of all that stands around one upstream, from the connection to the source that is asked. */
export const openUpstream = async (options: OpenUpstreamOptions): Promise<Opened<OpenUpstream>> => {
  const closers = new Closers()
  const { vocabularies } = options
  const { live, pull } = openLive(options, closers)
  const declared = () => [...(live.spec.spec()?.filters.values() ?? [])]
  vocabularies.add(declared)
  closers.add(() => vocabularies.delete(declared))
  const close = () => closers.close()
  const known = async (): Promise<void> => void (await live.spec.known())
  if (options.upstream.mode === 'live') {
    closers.add(() => live.close())
    return { value: { source: live, wasTried: () => true, tried: known }, close }
  }
  const snapshot = await openSnapshot(live, pull, options, closers)
  const tried = async (): Promise<void> => void (await Promise.all([known(), snapshot.tried]))
  return { value: { source: snapshot, wasTried: snapshot.wasTried, tried }, close }
}

type Pulling = (signal: AbortSignal) => Promise<Pull>

const openLive = (
  { upstream, config, foundation, sharing }: OpenUpstreamOptions,
  closers: Closers,
): { live: UpstreamSource; pull: Pulling } => {
  const { clock, random, log, lookup } = foundation
  const { id, schema, budgetMs } = config.gateway
  const agent = createAgent(upstream, lookup)
  // Readers have been answered by then: what is left is fetched for nobody.
  closers.add(() => agent.destroy())
  const ask = getFrom(upstream, agent, [id])
  let source: UpstreamSource | null = null
  // Filter specs and publishers are asked for seldom, and what fails there says nothing of listings, so no breaker
  // counts it; but an upstream that is left alone is left alone by these as well.
  const get: Get = async (path, options) => {
    source?.refuse()
    return ask(path, options)
  }
  const vocabulary = new SpecKeeper(fetchFilterSpec(get), clock)
  const book = new PublisherBook(fetchPublishers(get), clock)
  // A gateway's publishers are only its own; of the others its items tell.
  const attributed = (fetch: FetchListings): FetchListings =>
    upstream.kind === 'gateway' ? fetch : withPublishers(book, fetch)
  const readPages = (fetch: FetchListings): Source => readListings(upstream, attributed(fetch))
  const read = upstream.kind === 'gateway' ? (fetch: FetchListings) => withGaps(fetch, readPages) : readPages
  const live = createUpstreamSource({
    upstream,
    fetch: fetchInTurn(upstream, tracedFetch(upstream, fetchListings(upstream, agent))),
    read,
    vocabulary,
    schema,
    ...sharing,
    policy: config.cache,
    log,
    budgetMs,
    clock,
    random,
  })
  source = live
  const pull: Pulling = async (signal) => {
    requireSchema(upstream.name, await vocabulary.known(), schema)
    return pullListings(upstream, attributed(live.fetch), signal, [id])
  }
  return { live, pull }
}

const openSnapshot = async (
  live: UpstreamSource,
  pull: Pulling,
  { upstream, config, foundation, keeping, vocabularies }: OpenUpstreamOptions,
  closers: Closers,
) => {
  const { clock, random, log } = foundation
  const { schema } = config.gateway
  closers.add(() => keeping.end())
  const filters = () => [...vocabularies].flatMap((filtersOf) => filtersOf())
  const parts = { upstream, live, pull, filters, schema, keeping, clock, random, log }
  const source = await createSnapshotSource(parts)
  keeping.begin(() => source.saved())
  closers.add(() => source.close())
  return source
}
