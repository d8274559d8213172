import { type Block, BlockedSubjects, type BlockSubject, subjectText } from '../domain/block.ts'
import { Emitter } from '../domain/emitter.ts'
import { bothFilters, NO_FILTER, type StandingFilter } from '../domain/query.ts'
import type { Holding } from '../domain/source/holding.ts'
import type { Item } from '../domain/source/item.ts'
import { inTurns } from '../domain/turns.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import { type Criterion, criteriaIn } from '../filter-spec/filter.ts'
import type { Copy } from '../listing-index/copy.ts'
import type { CopyIndex } from '../listing-index/copy-index.ts'
import { documentOf } from '../listing-index/document-reader.ts'

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

/**
 * Open listings of one source that a rule leaves out; `null`: what `only` leaves out of an upstream is not held. A listing that two
 * leave out counts in both.
 */
export type RuleCount = { rule: string; listings: number | null }

/** What the operator leaves out, for every reader: such copies decide nothing. */
export class Rules {
  readonly #index: CopyIndex
  readonly #curation: Curation | undefined
  readonly #names: readonly string[]
  #bySource: ReadonlyMap<string, SourceRules>
  readonly #changed = new Emitter<Concerned>()
  readonly #end: () => void
  /** Calls back in the turn in which rules change, until they are closed. */
  readonly onChange = this.#changed.listen

  /** @param names of all sources */
  constructor(index: CopyIndex, names: readonly string[], curation: Curation | undefined) {
    this.#index = index
    this.#curation = curation
    this.#names = names
    this.#bySource = this.#read(new Map())
    this.#end = curation?.onChange(() => this.#change()) ?? (() => {})
  }

  close(): void {
    this.#end()
  }

  /** Whether the operator leaves out a row of the index. */
  readonly isOut = (copy: Copy): boolean =>
    this.of(this.#index.about(copy.source).name)?.denies(copy) === true

  /** Whether some rows of that number are left out since their publisher is not known. */
  hidesUnknown(source: string, number: number): boolean {
    const rules = this.of(source)
    if (rules?.deniesSubjects !== true) return false
    if (this.#index.unknownSellersOf(number).some((seller) => rules.isUncertainSeller(seller))) return true
    const isUnknown = ({ source: of, publisher }: Copy): boolean => of === number && publisher === null
    return rules.listings.values().some((id) => this.#index.copiesOf(id).some(isUnknown))
  }

  /** `null`: nothing is left out of that source now. */
  of(source: string): SourceRules | null {
    const rules = this.#bySource.get(source)
    return rules?.isActive === true ? rules : null
  }

  /** Of what is shown of the source. */
  labelOf(source: string): string | undefined {
    return this.#bySource.get(source)?.label
  }

  /** Differs where the rules of one of these sources do. */
  versionOf(sources: readonly string[]): string {
    return sources.map((source) => this.#bySource.get(source)?.version ?? '').join()
  }

  get areAny(): boolean {
    return this.#bySource.values().some(({ isActive }) => isActive)
  }

  /** Of the rows of that number. */
  async counts({ name, isOwn }: Holding, number: number): Promise<readonly RuleCount[]> {
    const rules = this.#bySource.get(name)?.all ?? []
    const counts = await inTurns(countLeftOut(this.#index, number, rules))
    const isKnown = ({ rule }: RuleCount): boolean =>
      isOwn || rules.find((one) => one.name === rule)?.only.criteria.length === 0
    return counts.map((count) => (isKnown(count) ? count : { ...count, listings: null }))
  }

  #change(): void {
    const before = this.#bySource
    this.#bySource = this.#read(before)
    const concerned = new Map<string, ReadonlySet<string>>()
    for (const [name, now] of this.#bySource) {
      const earlier = before.get(name)
      if (earlier !== now) concerned.set(name, new Set(this.#concerned(name, now, earlier)))
    }
    this.#changed.emit(concerned)
  }

  /** Listings that the sources of that name have, and that one of both may leave out and the other not. */
  *#concerned(name: string, now: SourceRules, before: SourceRules | undefined): Generator<string> {
    const sellers = new Set<number>()
    for (const [number, seller] of this.#index.sellersIn(name))
      if (now.deniesSeller(seller) !== (before?.deniesSeller(seller) ?? false)) sellers.add(number)
    yield* this.#index.listingIdsOf(sellers)
    const earlier = before?.listings ?? new Map<string, string>()
    for (const [subject, listingId] of [...now.listings, ...earlier])
      if (!now.listings.has(subject) || !earlier.has(subject)) yield listingId
  }

  /** Rules that are the same stay the same object. */
  #read(before: ReadonlyMap<string, SourceRules>): ReadonlyMap<string, SourceRules> {
    if (this.#curation === undefined) return new Map()
    const { rules, blocks } = this.#curation
    const all = blocks()
    return new Map(
      this.#names.map((name) => {
        const ofFile = rules.filter((rule) => isOf(rule, name))
        const ofBlocks = all
          .filter(({ source }) => source === null || source === name)
          .map(({ id, subjects }) => ({ name: `block ${id}`, deny: subjects, only: NO_FILTER }))
        const now = [...ofFile.map((rule) => ({ ...rule, only: filterIn(rule.only, name) })), ...ofBlocks]
        const earlier = before.get(name)
        const isSame = earlier !== undefined && keyOf(earlier.all) === keyOf(now)
        return [name, isSame ? earlier : new SourceRules(now, labelOf(rules, name))]
      }),
    )
  }
}

/** By source, ids of listings that its rules may leave out now, or show again. */
type Concerned = ReadonlyMap<string, ReadonlySet<string>>

type Rule = Pick<CurationRule, 'name' | 'deny' | 'only'>

/** Unlike in every runtime of this process, since what readers keep is of one version. */
let versions = 0

/** The rules over one source. */
export class SourceRules {
  readonly all: readonly Rule[]
  readonly label: string | undefined
  readonly version = ++versions
  readonly only: StandingFilter
  /** Ids of single listings that are denied, by subject: several publishers may have one id. */
  readonly listings: ReadonlyMap<string, string>
  readonly #blocked: BlockedSubjects

  constructor(all: readonly Rule[], label: string | null) {
    this.all = all
    this.label = label ?? undefined
    this.only = all.reduce((both, { only }) => bothFilters(both, only), NO_FILTER)
    const subjects = all.flatMap(({ deny }) => deny)
    this.listings = new Map(
      subjects.flatMap((one) => (one.kind === 'listing' ? [[subjectText(one), one.listingId]] : [])),
    )
    this.#blocked = new BlockedSubjects(subjects)
  }

  get isActive(): boolean {
    return this.deniesSubjects || this.only.criteria.length > 0
  }

  get deniesSubjects(): boolean {
    return this.#blocked.size > 0
  }

  denies(item: Item): boolean {
    return this.#blocked.has(item) || isOutside(this.only.criteria, item)
  }

  /** Of one that is denied: whether it is for no other reason than that its publisher is not known. */
  isUncertain(item: Item): boolean {
    return this.#blocked.mayHave(item) && !isOutside(this.only.criteria, item)
  }

  /** All listings of the seller. */
  deniesSeller(seller: Pick<Item, 'publisher' | 'storefrontUrl'>): boolean {
    return this.#blocked.has({ ...seller, listingId: '' })
  }

  /** All of them, for no other reason than that the publisher is not known. */
  isUncertainSeller(seller: Pick<Item, 'publisher' | 'storefrontUrl'>): boolean {
    return this.#blocked.mayHave({ ...seller, listingId: '' })
  }

  deniesPublisher(publisher: string): boolean {
    return this.#blocked.hasPublisher(publisher)
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

/** Differs where the rules of a source do. */
export function rulesKey(rules: readonly CurationRule[], source: string): string {
  const own = rules.filter((rule) => isOf(rule, source))
  return JSON.stringify([own.map(({ deny, only }) => [deny, only.key]), labelOf(rules, source)])
}

/** What all rules keep of a source: nothing else of an upstream is held. */
export function onlyOf(
  rules: readonly Pick<CurationRule, 'sources' | 'only'>[],
  source: string,
): StandingFilter {
  const kept = rules.filter((rule) => isOf(rule, source)).map(({ only }) => filterIn(only, source))
  return kept.reduce(bothFilters, NO_FILTER)
}

function filterIn(only: StandingFilter, source: string): StandingFilter {
  return { ...only, criteria: criteriaIn(only.criteria, source) }
}

function isOutside(criteria: readonly Criterion[], item: Item): boolean {
  return criteria.length > 0 && !matchesAll(criteria, documentOf(item.bytes))
}

function* countLeftOut(
  index: CopyIndex,
  source: number,
  rules: readonly Rule[],
): Generator<void, readonly RuleCount[]> {
  const counted = rules.filter(({ deny, only }) => deny.length + only.criteria.length > 0)
  if (counted.length === 0) return []
  const blocked = counted.map(({ deny }) => new BlockedSubjects(deny))
  const listings = counted.map(() => 0)
  for (const key of index.keysOf(source)) {
    const copy = index.get(source, key)
    if (copy?.status === 'open')
      for (const [n, { only }] of counted.entries())
        if (blocked[n]!.has(copy) || isOutside(only.criteria, copy)) listings[n]!++
    yield
  }
  return counted.map(({ name }, n) => ({ rule: name, listings: listings[n]! }))
}
