import type { Holding } from '../domain/source/holding.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import type { KnownSpec } from '../filter-spec/upstream-spec.ts'
import type { SourceNote, SourcesCounted } from '../wire/source.ts'
import type { ChangeFeed } from './changes/change-feed.ts'
import type { MarketSettings } from './market-settings.ts'
import type { Curation } from './rules.ts'

/** `complete`: every source that could contribute has answered, fresh or stale. */
export type Completeness = {
  complete: boolean
  sources: readonly SourceNote[]
  /** Of many sources, those that `sources` does not name. */
  sourcesCounted?: SourcesCounted | undefined
}

export type MarketSource = {
  source: Holding
  /** Absent for the own Registry. What `load` gives is waited for; `null`: nothing. */
  spec?: Pick<KnownSpec, 'current' | 'failure' | 'load'> | undefined
  health: (signal: AbortSignal) => readonly SourceNote[] | Promise<readonly SourceNote[]>
}

export type MarketParts = Omit<
  MarketSettings,
  'sources' | 'ranking' | 'ranks' | 'rules' | 'itemPrices' | 'boundsOf'
> & {
  sources: readonly MarketSource[]
  /** Whether it is that of readers of the signed line. Default: no. */
  isSigned?: boolean
  /** Of the own Registry; `null` for the market of a buyer. */
  spec: FilterSpec | null
  /** Absent for the market of a buyer. */
  gatewayId?: string
  /** Whether readers who do not see private sources learn that there are some. Default: no. */
  announcesPrivate?: boolean
  /** What the operator leaves out, for every reader. */
  curation?: Curation | undefined
  /** Longest wait for the counts of `filters`. */
  countMs?: number
  /** Absent for the market of a buyer, whose changes are not known. */
  feed?: ChangeFeed
  /** The source that a reader means by the name of one behind it. */
  sourceOf?: (name: string) => string
}
