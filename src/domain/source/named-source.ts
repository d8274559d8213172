import type { HiddenRows, ListingQuery } from '../query.ts'
import type { Held } from './held.ts'
import type { Item, Source, Visibility } from './reading.ts'
import type { Select } from './selection.ts'

/** The own Registry or an upstream. It answers lists from memory. */
export type NamedSource = {
  /** `local`, or the upstream's configured name. */
  name: string
  visibility: Visibility
  /** `local`: the own Registry. */
  mode: 'local' | 'snapshot'
  /** The lowest number wins when sources have copies of a listing. */
  priority: number
  read: Source
  /** For answers by price and facets. */
  select: Select
  held: Held
  /** Rows that a rule of the operator leaves out. */
  denied?: readonly HiddenRows[]
  /** Rules of the operator about it. Absent: there are never any. */
  rules?: SourceRules
  /** `_meta.label` of what is shown of it. */
  label?: string
  /**
   * The publisher's storefront; `undefined` for an unknown publisher. Absent where a source never knows. The own Registry knows
   * those with a listing within `within`.
   */
  storefrontOf?: (publisher: string, within?: Within) => string | null | undefined
  /** Whether listings may be of sources of its own. */
  isGateway?: boolean
}

type SourceRules = {
  /** Another number whenever they change. */
  version: () => number
  /** Whether they leave that copy out now. */
  denies: (item: Item) => boolean
}

/** What exists for a reader, of one source. */
export type Within = Pick<ListingQuery, 'standing' | 'denied'>
