import { type Block, BlockedSubjects, type BlockSubject } from '../domain/block.ts'
import { ALL_OPEN, bothFilters, NO_FILTER, type StandingFilter } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { FULL_RANGE, type Item } from '../domain/source/reading.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import { type Criterion, criteriaIn } from '../filter-spec/filter.ts'
import { documentOf } from '../listing-index/document-reader.ts'
import { isReadable } from './deciders.ts'
import { KeySet } from './key-set.ts'
import type { Denials } from './restrict-source.ts'

/** What the operator leaves out, from the file and at run time. */
export type Curation = {
  rules: readonly CurationRule[]
  /** Blocks that hold now. */
  blocks: () => readonly (Pick<Block, 'id' | 'source'> & { subjects: readonly BlockSubject[] })[]
  /** Calls back in the turn in which they change. */
  onChange: (listener: () => void) => () => void
}

/** A rule of the gateway file. */
export type CurationRule = {
  /** As the operator's reports name it, such as `curation.rules[0]`. */
  name: string
  /** Names; `null`: every source. */
  sources: readonly string[] | null
  deny: readonly BlockSubject[]
  /** What does not match is left out, too. */
  only: StandingFilter
  /** `_meta.label` of what is shown of these sources; `null`: none. */
  label: string | null
}

/** Open listings of one source that a rule leaves out; `null` where that is not known: what `only` leaves out of an upstream is not held. */
export type RuleCount = { rule: string; listings: number | null }

/** One rule over one source. A listing that two leave out counts in both. */
type Rule = Pick<CurationRule, 'name' | 'deny' | 'only'>

const ONE = { ...FULL_RANGE, count: 1 }

/** Unlike in every runtime of this process, since what readers keep is of one version. */
let versions = 0

/** The operator's rules over one source. */
export class SourceDenials implements Denials {
  readonly only: StandingFilter
  readonly label: string | null
  readonly #source: NamedSource
  readonly #curation: Curation
  readonly #fileRules: readonly Rule[]
  readonly #rows = new KeySet(() => this.#follow())
  /** Ids whose copies have changed since the rows were looked at. */
  readonly #changed = new Set<string>()
  /** Of rows that are denied since their publisher is not known. */
  readonly #uncertain = new Set<string>()
  readonly #listeners = new Set<(listingIds: Iterable<string>) => void>()
  readonly #ends: readonly (() => void)[]
  #rules: readonly Rule[] = []
  #blocked = new BlockedSubjects([])
  #isBehind = false
  version = 0

  constructor(source: NamedSource, curation: Curation) {
    this.#source = source
    this.#curation = curation
    this.#fileRules = curation.rules
      .filter((rule) => isOf(rule, source.name))
      .map(({ name, deny, only }) => ({ name, deny, only: filterIn(only, source.name) }))
    this.only = onlyOf(curation.rules, source.name)
    this.label = labelOf(curation.rules, source.name)
    this.#apply()
    const end = source.held.onChange((ids) => {
      if (this.deniesSubjects()) for (const id of ids) this.#changed.add(id)
      this.#catchUp()
    })
    this.#ends = [curation.onChange(() => this.#apply()), end]
  }

  get rows(): KeySet {
    return this.#rows
  }

  isActive(): boolean {
    return this.deniesSubjects() || this.only.criteria.length > 0
  }

  deniesSubjects(): boolean {
    return this.#blocked.size > 0
  }

  denies(item: Item): boolean {
    return this.#blocked.has(item) || isOutside(this.only.criteria, item)
  }

  isUncertain(item: Item): boolean {
    return this.#blocked.mayHave(item) && !isOutside(this.only.criteria, item)
  }

  deniesPublisher(publisher: string): boolean {
    return this.#blocked.hasPublisher(publisher)
  }

  hidesUnknown(): boolean {
    this.#follow()
    return this.#uncertain.size > 0
  }

  onChange(listener: (listingIds: Iterable<string>) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async counts(signal: AbortSignal): Promise<readonly RuleCount[]> {
    const rules = this.#rules.filter(({ deny, only }) => deny.length + only.criteria.length > 0)
    if (rules.length === 0) return []
    const { held } = this.#source
    return held.failure(ALL_OPEN) === null
      ? Promise.all(rules.map((rule) => this.#countHeld(rule, signal)))
      : rules.map(({ name }) => ({ rule: name, listings: null }))
  }

  close(): void {
    for (const end of this.#ends) end()
  }

  /** Looks at every copy again: rules change seldom. */
  #apply(): void {
    const { name, held } = this.#source
    const before = this.#blocked.size
    const blocks = this.#curation.blocks().filter(({ source }) => source === null || source === name)
    const ofBlocks = blocks.map(({ id, subjects }) => ({
      name: `block ${id}`,
      deny: subjects,
      only: NO_FILTER,
    }))
    const rules = [...this.#fileRules, ...ofBlocks]
    if (this.version > 0 && keyOf(rules) === keyOf(this.#rules)) return
    this.#rules = rules
    this.#blocked = new BlockedSubjects(this.#rules.flatMap(({ deny }) => deny))
    this.version = ++versions
    if (before + this.#blocked.size === 0) return
    this.#changed.clear()
    // Nothing of a source is found while it refuses the key: rows of before would stay hidden after it answers again.
    const ids = new Set([...held.ids(), ...this.#rows.listingIds])
    this.#isBehind = held.ids()[Symbol.iterator]().next().done === true && this.#listeners.size > 0
    const changed = new Set([...ids].filter((id) => this.#update(id)))
    if (changed.size > 0) for (const listener of this.#listeners) listener(changed)
  }

  /** Rules that changed while nothing of the source was shown, such as after a 401, may concern any of its copies. */
  #catchUp(): void {
    const ids = this.#isBehind ? [...this.#source.held.ids()] : []
    if (ids.length === 0) return
    this.#isBehind = false
    for (const listener of this.#listeners) listener(ids)
  }

  async #countHeld({ name, deny, only }: Rule, signal: AbortSignal): Promise<RuleCount> {
    const blocked = new BlockedSubjects(deny)
    let listings = 0
    for (const id of this.#rows.listingIds)
      for (const { item, status } of this.#source.held.find(id))
        if (status === 'open' && blocked.has(item)) listings++
    if (only.criteria.length === 0) return { rule: name, listings }
    if (this.#source.mode !== 'local') return { rule: name, listings: null }
    const all = await this.#source.read(ALL_OPEN, ONE, signal)
    const kept = await this.#source.read({ ...ALL_OPEN, standing: only }, ONE, signal)
    return { rule: name, listings: listings + all.total - kept.total }
  }

  #follow(): void {
    for (const id of this.#changed) this.#update(id)
    this.#changed.clear()
  }

  /** @returns whether other copies of that id are denied than before */
  #update(listingId: string): boolean {
    const copies = this.#source.held.find(listingId)
    const denied = copies.filter(({ item }) => this.#blocked.has(item))
    if (denied.some(({ item }) => this.isUncertain(item))) this.#uncertain.add(listingId)
    else this.#uncertain.delete(listingId)
    return this.#rows.set(
      listingId,
      denied.map(({ key }) => key),
    )
  }
}

const keyOf = (rules: readonly Rule[]): string =>
  JSON.stringify(rules.map(({ name, deny, only }) => [name, deny, only.key]))

function isOf({ sources }: Pick<CurationRule, 'sources'>, source: string): boolean {
  return sources?.includes(source) ?? true
}

/** Of the rule that names the source alone, else of one about several. */
function labelOf(rules: readonly CurationRule[], source: string): string | null {
  const labelled = rules.filter((rule) => rule.label !== null && isOf(rule, source))
  return (labelled.find(({ sources }) => sources?.length === 1) ?? labelled[0])?.label ?? null
}

/** What all rules keep of a source: nothing else of an upstream is held. */
export function onlyOf(
  rules: readonly Pick<CurationRule, 'sources' | 'only'>[],
  source: string,
): StandingFilter {
  const kept = rules.filter((rule) => isOf(rule, source)).map(({ only }) => filterIn(only, source))
  return kept.reduce(bothFilters, NO_FILTER)
}

/** Differs where the rules of a source do. */
export function rulesKey(rules: readonly CurationRule[], source: string): string {
  const own = rules.filter((rule) => isOf(rule, source))
  return JSON.stringify([own.map(({ deny, only }) => [deny, only.key]), labelOf(rules, source)])
}

function filterIn(only: StandingFilter, source: string): StandingFilter {
  return { ...only, criteria: criteriaIn(only.criteria, source) }
}

/** An unreadable copy is stepped over elsewhere. */
function isOutside(criteria: readonly Criterion[], item: Item): boolean {
  return criteria.length > 0 && isReadable(item) && !matchesAll(criteria, documentOf(item.bytes))
}
