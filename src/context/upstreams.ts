import type { Config } from '../config.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { Filter, FilterSpec } from '../filter-spec/filter.ts'
import { presented } from '../gateway/presented.ts'
import type { UpstreamSource } from '../gateway/upstream-source.ts'
import type { Foundation } from './foundation.ts'
import { openKeeping } from './keeping.ts'
import type { Opened } from './shared-parts.ts'
import { openSharing } from './sharing.ts'
import { type OpenUpstream, openUpstream } from './upstream.ts'

export type UpstreamsOptions = {
  config: Config
  spec: FilterSpec
  foundation: Foundation
  /** A part that this configuration needs, from the one before where that has the same. */
  hold: <T>(key: string, open: () => Promise<Opened<T>>) => Promise<T>
}

export type Upstreams = {
  /** In the order of the configuration. */
  upstreams: readonly UpstreamSource[]
  /** Whether every one that is to be pulled was tried once. */
  areTried: () => boolean
  /** Resolves when every one was asked once for what its first answer needs, with whatever outcome. */
  tried: () => Promise<void>
}

/** Composition of everything that stands behind the gateway. */
export const openUpstreams = async ({
  config,
  spec,
  foundation,
  hold,
}: UpstreamsOptions): Promise<Upstreams> => {
  const sharing = await hold('sharing', () => openSharing(config, foundation))
  const hasSnapshots = config.upstreams.some(({ mode }) => mode === 'snapshot')
  const keeping = await hold(`keeping ${hasSnapshots}`, () => openKeeping(config, foundation))
  sharing.fit(config)
  keeping.fit(config)
  const vocabularies = await hold('vocabularies', openVocabularies)
  await hold(`vocabulary ${spec.etag}`, () => openVocabulary(spec, vocabularies))
  const opened: OpenUpstream[] = []
  for (const upstream of config.upstreams)
    opened.push(
      await hold(keyOf(upstream, config), () =>
        openUpstream({
          upstream,
          config,
          foundation,
          sharing: sharing.of(upstream),
          keeping: keeping.of(upstream),
          vocabularies,
        }),
      ),
    )
  return {
    upstreams: opened.map(({ source }, n) => presented(source, config.upstreams[n]!)),
    areTried: () => opened.every(({ wasTried }) => wasTried()),
    tried: async () => {
      await Promise.all(opened.map(({ tried }) => tried()))
    },
  }
}

/** What readers may ask for, of every configuration that is there. */
export type Vocabularies = Set<() => readonly Filter[]>

const openVocabularies = async (): Promise<Opened<Vocabularies>> => ({ value: new Set(), close: () => {} })

/** Our own words, which snapshots are indexed by for as long as any configuration has them. */
const openVocabulary = async (
  { filters }: FilterSpec,
  vocabularies: Vocabularies,
): Promise<Opened<unknown>> => {
  const own = () => [...filters.values()]
  vocabularies.add(own)
  return { value: own, close: () => vocabularies.delete(own) }
}

/** All that an upstream is made of: not how it is shown, and not what it shares with others. */
const keyOf = (upstream: UpstreamOptions, { gateway, cache }: Config): string => {
  const { priority: _, visibility: __, ...made } = upstream
  const { maxBytes, ...policy } = cache
  return `upstream ${JSON.stringify([made, gateway, policy, maxBytes === 0])}`
}
