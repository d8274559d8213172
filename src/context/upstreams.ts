import type { Config } from '../config.ts'
import type { SnapshotStorage } from '../domain/saved-snapshot.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { Filter, FilterSpec } from '../filter-spec/filter.ts'
import { createAgent } from '../upstream/http/agent.ts'
import { cacheGroup } from '../upstream/reading/run-cache.ts'
import type { SnapshotPuller } from '../upstream/snapshot/puller.ts'
import { createUpstream, type Upstream } from '../upstream/upstream.ts'
import type { Foundation } from './foundation.ts'
import type { Opened } from './shared-parts.ts'
import { openSharing, type Sharing } from './sharing.ts'

export type UpstreamsOptions = {
  config: Config
  spec: FilterSpec
  foundation: Foundation
  /** A part that this configuration needs, from the one before where that has the same. */
  hold: <T>(key: string, open: () => Promise<Opened<T>>) => Promise<T>
}

export type Upstreams = {
  /** In the order of the configuration. */
  upstreams: readonly Upstream[]
  /** Whether every snapshot was pulled once. */
  isReady: () => boolean
  /** Resolves when every upstream was asked once for what its first answer needs, with whatever outcome. */
  ready: () => Promise<void>
}

/** Opens the upstreams of a configuration. */
export const openUpstreams = async ({
  config,
  spec,
  foundation,
  hold,
}: UpstreamsOptions): Promise<Upstreams> => {
  const sharing = await hold('sharing', () => openSharing(config, foundation))
  sharing.configure(config)
  const vocabularies = await hold('vocabularies', openVocabularies)
  await hold(`vocabulary ${spec.etag}`, () => openVocabulary(spec, vocabularies))
  const opened: Upstream[] = []
  for (const upstream of config.upstreams)
    opened.push(
      await hold(keyOf(upstream, config), () =>
        openUpstream({ upstream, config, foundation, sharing, vocabularies }),
      ),
    )
  return {
    upstreams: opened.map((upstream, n) => withVisibility(upstream, config.upstreams[n]!)),
    isReady: () => opened.every(({ isReady }) => isReady()),
    ready: async () => {
      await Promise.all(opened.map(({ ready }) => ready))
    },
  }
}

type OpenOptions = {
  upstream: UpstreamOptions
  config: Config
  foundation: Foundation
  sharing: Sharing
  vocabularies: Vocabularies
}

const openUpstream = async ({
  upstream,
  config,
  foundation,
  sharing,
  vocabularies,
}: OpenOptions): Promise<Opened<Upstream>> => {
  const { clock, random, log, resolver } = foundation
  const { id: gatewayId, schema, budgetMs } = config.gateway
  const agent = createAgent(upstream, resolver.lookup)
  const { storage, ...shared } = sharing.of(upstream)
  const group = cacheGroup(upstream)
  const before = sharing.snapshots.get(group) ?? []
  sharing.snapshots.set(group, before)
  const holder = {}
  const opened = createUpstream({
    upstream,
    agent,
    gatewayId,
    schema,
    budgetMs,
    runs: sharing.runs,
    policy: config.cache,
    ...shared,
    snapshots: {
      storage: handOver(storage, before, () => before.at(-1) === opened.snapshot),
      filters: () => [...vocabularies].flatMap((filtersOf) => filtersOf()),
      maxBytes: () => sharing.memory.maxSnapshotBytes,
      onResize: (bytes) => sharing.memory.hold(holder, bytes),
    },
    log,
    clock,
    random,
  })
  const declared = () => [...(opened.spec.spec()?.filters.values() ?? [])]
  vocabularies.add(declared)
  await opened.snapshot?.restore()
  opened.snapshot?.pull()
  if (opened.snapshot !== null) before.push(opened.snapshot)
  const close = async (): Promise<void> => {
    vocabularies.delete(declared)
    await opened.close()
    if (opened.snapshot !== null) before.splice(before.indexOf(opened.snapshot), 1)
    // Readers have their answers by now.
    await agent.destroy()
  }
  return { value: opened, close }
}

/** What an open snapshot of the same upstream and credential holds is newer than what was saved; the newest saves. */
const handOver = (
  storage: SnapshotStorage | null,
  open: readonly SnapshotPuller[],
  isNewest: () => boolean,
): SnapshotStorage => {
  const before = open.at(-1)
  return {
    load: async () => before?.saved() ?? (await storage?.load()) ?? null,
    save: async (snapshot) => {
      if (isNewest()) await storage?.save(snapshot)
    },
  }
}

/** An upstream as one configuration shows it: an unchanged one outlives it with another visibility or priority. */
const withVisibility = (
  upstream: Upstream,
  { visibility, priority }: Pick<UpstreamOptions, 'visibility' | 'priority'>,
): Upstream => {
  const { source } = upstream
  return {
    ...upstream,
    source: {
      ...source,
      visibility,
      priority,
      // A snapshot that is too large is read live.
      get mode() {
        return source.mode
      },
    },
    spec: { ...upstream.spec, visibility, priority },
    status: () => ({ ...upstream.status(), visibility }),
  }
}

/** The filters that readers may use, of every configuration that is open: snapshots are indexed by them. */
type Vocabularies = Set<() => readonly Filter[]>

const openVocabularies = async (): Promise<Opened<Vocabularies>> => ({ value: new Set(), close: () => {} })

const openVocabulary = async (
  { filters }: FilterSpec,
  vocabularies: Vocabularies,
): Promise<Opened<unknown>> => {
  const own = () => [...filters.values()]
  vocabularies.add(own)
  return { value: own, close: () => vocabularies.delete(own) }
}

/** Everything that an upstream is made of: not how it is shown, and not what it shares with others. */
const keyOf = (upstream: UpstreamOptions, { gateway, cache }: Config): string => {
  const { priority: _, visibility: __, ...made } = upstream
  const { maxBytes, ...policy } = cache
  return `upstream ${JSON.stringify([made, gateway, policy, maxBytes === 0])}`
}
