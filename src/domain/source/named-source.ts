import type { HiddenRows, ListingQuery } from '../query.ts'
import type { Held, LookUpCopies, ReadWhole } from './held.ts'
import type { Item, Source, SourceMode, Visibility } from './reading.ts'
import type { Select } from './selection.ts'

export type NamedSource = {
  /** `local`, or the upstream's configured name. */
  name: string
  visibility: Visibility
  mode: SourceMode
  /** The lowest number wins when sources have copies of a listing. */
  priority: number
  read: Source
  /** For answers by price and facets; absent: `read` of all its listings serves them. */
  select?: Select
  /** Absent for a source that is never in memory. */
  held?: Held
  /** For a source that does not answer from memory; absent: `read` of all its listings serves. */
  readWhole?: ReadWhole
  /** Absent: listings of a source that is too large to be read whole are not looked up. */
  lookUp?: LookUpCopies
  /** Rows that a rule of the operator leaves out, while it is in memory. */
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
  /** Whether a listing may repeat: a gateway's pages by cursor repeat one whose copies are far apart. */
  mayRepeat?: boolean
}

type SourceRules = {
  /** Another number whenever they change. */
  version: () => number
  /** Whether they leave that copy out now. */
  denies: (item: Item) => boolean
}

/** What exists for a reader, of one source. */
export type Within = Pick<ListingQuery, 'standing' | 'denied'>
