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
  /** Reuses the previous configuration's part with the same key. */
  hold: <T>(key: string, open: () => Promise<Opened<T>>) => Promise<T>
}

export type Upstreams = {
  upstreams: readonly Upstream[]
  isReady: () => boolean
  ready: () => Promise<void>
}

export async function openUpstreams({
  config,
  spec,
  foundation,
  hold,
}: UpstreamsOptions): Promise<Upstreams> {
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

async function openUpstream({
  upstream,
  config,
  foundation,
  sharing,
  vocabularies,
}: OpenOptions): Promise<Opened<Upstream>> {
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
    // All readers have their answers by now.
    await agent.destroy()
  }
  return { value: opened, close }
}

/** An open snapshot is newer than the saved one; only the newest puller saves. */
function handOver(
  storage: SnapshotStorage | null,
  open: readonly SnapshotPuller[],
  isNewest: () => boolean,
): SnapshotStorage {
  const before = open.at(-1)
  return {
    load: async () => before?.saved() ?? (await storage?.load()) ?? null,
    save: async (snapshot) => {
      if (isNewest()) await storage?.save(snapshot)
    },
  }
}

/** Visibility and priority can change while the upstream stays open. */
function withVisibility(
  upstream: Upstream,
  { visibility, priority }: Pick<UpstreamOptions, 'visibility' | 'priority'>,
): Upstream {
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

/** Filters of all open configurations: snapshots are indexed by them. */
type Vocabularies = Set<() => readonly Filter[]>

const openVocabularies = async (): Promise<Opened<Vocabularies>> => ({ value: new Set(), close: () => {} })

async function openVocabulary({ filters }: FilterSpec, vocabularies: Vocabularies): Promise<Opened<unknown>> {
  const own = () => [...filters.values()]
  vocabularies.add(own)
  return { value: own, close: () => vocabularies.delete(own) }
}

/** Everything an upstream is made of, without how it is shown and what it shares. */
function keyOf(upstream: UpstreamOptions, { gateway, cache }: Config): string {
  const { priority: _, visibility: __, ...made } = upstream
  const { maxBytes, ...policy } = cache
  return `upstream ${JSON.stringify([made, gateway, policy, maxBytes === 0])}`
}
