import test from 'ava'
import fc from 'fast-check'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import type { Copy, Row } from '../../../src/listing-index/copy.ts'
import { CopyIndex } from '../../../src/listing-index/copy-index.ts'
import { placeOf } from '../../../src/listing-index/copy-matches.ts'
import type { Ranking } from '../../../src/listing-index/ranking.ts'
import type { Scope } from '../../../src/listing-index/scope.ts'
import { SourceSet } from '../../../src/listing-index/source-set.ts'
import { runs } from '../../helpers/runs.ts'
import {
  type CopyDraft,
  decideAll,
  documentOf,
  inOrder,
  isOutCopy,
  type ModelCopy,
  type Move,
  move,
  originOf,
  type Question,
  question,
  SOURCES,
  type SourceName,
} from './copies.ts'
import { FILTERS } from './model.ts'

/** Small segments, so that a short test seals and merges many of them. */
const SMALL = { tail: 3, segment: 16, step: 8 }
const CAP = 15

/** An index beside a list of all its copies. */
class World {
  readonly index = new CopyIndex(FILTERS, SMALL)
  readonly numbers = new Map<SourceName, number>()
  readonly copies: ModelCopy[] = []
  names: readonly SourceName[] = SOURCES
  groupBy: 'listing' | 'id' = 'listing'
  blocked = new Set<string>()
  ranking: Ranking
  /** By row: what is not known of a seller keeps it apart from others. */
  #unknown = 0

  constructor() {
    for (const name of SOURCES) this.numbers.set(name, this.index.addSource(name, name === 'own'))
    this.ranking = this.#rank()
  }

  get sources(): SourceSet {
    return new SourceSet(this.numbers.values())
  }

  scope({ sources, standing, via }: Question): Scope {
    const numbers = sources.map((name) => this.numbers.get(name)!)
    return { ranking: this.ranking, sources: new SourceSet(numbers), standing, via }
  }

  make(step: Move): void {
    switch (step.kind) {
      case 'put':
        this.#put(step.source, step.draft)
        break
      case 'remove': {
        const ofSource = this.copies.filter(({ source }) => source === step.source)
        const copy = ofSource[step.nth % Math.max(1, ofSource.length)]
        if (copy === undefined) break
        this.index.remove(this.numbers.get(step.source)!, copy.key)
        this.copies.splice(this.copies.indexOf(copy), 1)
        break
      }
      case 'load':
        this.#load(step)
        break
      case 'learn':
        this.#learn(step)
        break
      case 'block':
        this.#block(step)
        break
      case 'reload': {
        const before = this.ranking
        this.names = step.names
        this.groupBy = step.groupBy
        this.ranking = this.#rank()
        this.index.end(before)
        break
      }
      case 'go':
        run(this.index.removeSource(this.numbers.get(step.source)!))
        this.#forget(step.source)
        this.numbers.set(step.source, this.index.addSource(step.source, step.source === 'own'))
    }
  }

  #rank(): Ranking {
    const isOut = (copy: Copy) => isOutCopy(copy, this.blocked)
    return run(this.index.rank({ names: this.names, groupBy: this.groupBy, isOut }))
  }

  #put(source: SourceName, draft: CopyDraft): void {
    const copy = this.#copyOf(source, draft)
    this.index.put(this.#row(this.numbers.get(source)!, copy))
    const before = this.copies.findIndex((one) => one.source === source && one.key === copy.key)
    if (before !== -1) this.copies.splice(before, 1)
    this.copies.push(copy)
  }

  /** In place of all rows of the source, or beside them. */
  #load({ source, drafts, isGeneration }: Move & { kind: 'load' }): void {
    const copies = new Map(drafts.map((draft) => this.#copyOf(source, draft)).map((copy) => [copy.key, copy]))
    const before = this.numbers.get(source)!
    const number = isGeneration ? this.index.addSource(source, source === 'own') : before
    run(
      this.index.load(
        number,
        Array.from(copies.values(), (copy) => this.#row(number, copy)),
      ),
    )
    const kept = this.copies.filter((one) => one.source === source && !copies.has(one.key))
    this.#forget(source)
    this.copies.push(...copies.values())
    if (!isGeneration) this.copies.push(...kept)
    this.numbers.set(source, number)
    if (isGeneration) run(this.index.removeSource(before))
  }

  #learn({ nth, address }: Move & { kind: 'learn' }): void {
    const unknown = this.copies.filter((copy) => copy.address === null)
    const copy = unknown[nth % Math.max(1, unknown.length)]
    if (copy === undefined) return
    const { seller, storefrontUrl } = this.index.get(this.numbers.get(copy.source)!, copy.key)!
    this.index.learn(seller, { publisher: address, storefrontUrl })
    copy.address = address
  }

  #block({ address, isOut }: Move & { kind: 'block' }): void {
    if (isOut) this.blocked.add(address)
    else this.blocked.delete(address)
    this.index.decideAgain(this.ranking, [...new Set(this.copies.map(({ listingId }) => listingId))])
  }

  #forget(source: SourceName): void {
    this.copies.splice(0, this.copies.length, ...this.copies.filter((one) => one.source !== source))
  }

  /** Copies of gateways have more in their keys. The own Registry has one copy of an id. */
  #copyOf(source: SourceName, draft: CopyDraft): ModelCopy {
    const { listingId, address, storefrontUrl } = draft
    const isGateway = source === 'c' || source === 'd'
    const key = isGateway ? `${listingId}\n${address ?? `at ${storefrontUrl}`}` : listingId
    const status = source === 'd' ? 'open' : draft.status
    return { ...draft, status, source, key }
  }

  #row(source: number, copy: ModelCopy): Row {
    const { key, status, position, text, address: publisher, storefrontUrl } = copy
    const seller = this.index.sellers.numberOf({ publisher, storefrontUrl }, `${this.#unknown++}`)
    return { key, source, seller, status, position, bytes: Buffer.from(text), origin: originOf(copy) }
  }
}

function run<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

const nameIn = (world: World, { source }: Pick<Copy, 'source'>): string => world.index.nameOf(source)
const namesOf = (world: World, copies: Iterable<Copy>): string[] =>
  Array.from(copies, (copy) => `${nameIn(world, copy)} ${copy.key}`)
const modelNames = (copies: readonly ModelCopy[]): string[] =>
  copies.map(({ source, key }) => `${source} ${key}`)

test('ranking: what any question shows is what the rule of authority decides over all copies, after any changes', (t) => {
  const moves = fc.array(move, { minLength: 10, maxLength: 60 })
  const questions = fc.array(question, { minLength: 3, maxLength: 3 })
  fc.assert(
    fc.property(moves, questions, (steps, asked) => {
      const world = new World()
      for (const [n, step] of steps.entries()) {
        world.make(step)
        if (n % 5 === 4 || n === steps.length - 1) for (const one of asked) compare(world, one)
      }
      t.is(world.index.selfCheck(world.ranking, 20), 0)
    }),
    { numRuns: runs(1000) },
  )
  function compare(world: World, asked: Question): void {
    const { names, groupBy, blocked, copies } = world
    const { status, criteria } = asked
    const scope = world.scope(asked)
    const decisions = decideAll(copies, { names, groupBy, blocked }, asked)
    const isMatch = (copy: ModelCopy) => matchesAll(criteria, documentOf(copy))
    const shown = decisions.filter(({ isShown }) => isShown).map(({ decider }) => decider)
    const expected = shown.filter(isMatch)
    const matches = run(world.index.match(scope, { status, criteria }))
    t.is(matches.total, expected.length)
    t.deepEqual(namesOf(world, matches.page({ limit: 100 })), modelNames(inOrder(expected)))
    const capped = inOrder(expected, CAP)
    t.deepEqual(namesOf(world, matches.page({ limit: 100, cap: CAP })), modelNames(capped))
    t.deepEqual(
      namesOf(world, matches.page({ limit: 3, offset: 2, cap: CAP })),
      modelNames(capped.slice(2, 5)),
    )
    const [first] = matches.page({ limit: 1, cap: CAP })
    const after = first && placeOf(first, nameIn(world, first))
    t.deepEqual(
      namesOf(world, matches.page({ limit: 100, after, cap: CAP })),
      modelNames(capped.slice(after ? 1 : 0)),
    )
    if (asked.standing.criteria.length === 0) compareCounts(world, asked)
    for (const { decider, otherCopies, isShown, isConflict } of decisions) {
      if (!isShown) continue
      const copy = world.index.get(scopeNumber(world, decider), decider.key)!
      const group = world.index.groupOf(copy, scope, status)!
      t.deepEqual(namesOf(world, group.otherCopies), modelNames(otherCopies))
      t.is(group.isConflict, isConflict)
    }
  }
  function compareCounts(world: World, asked: Question): void {
    const { names, groupBy, blocked, copies } = world
    const { status, criteria } = asked
    const decisions = decideAll(copies, { names, groupBy, blocked }, asked)
    const hasStatus = (copy: ModelCopy) => status === null || copy.status === status
    const isMatch = (copy: ModelCopy) => hasStatus(copy) && matchesAll(criteria, documentOf(copy))
    const all = decisions.flatMap(({ decider, otherCopies }) => [decider, ...otherCopies]).filter(isMatch)
    const shown = decisions.filter(({ isShown, decider }) => isShown && isMatch(decider))
    const counts = run(world.index.match(world.scope(asked), { status, criteria })).bySource()
    for (const source of SOURCES) {
      const matched = all.filter((copy) => copy.source === source).length
      const visible = shown.filter(({ decider }) => decider.source === source).length
      const counted = counts.get(world.numbers.get(source)!) ?? { matched: 0, hidden: 0 }
      t.deepEqual(counted, { matched, hidden: matched - visible })
    }
  }
})

const scopeNumber = (world: World, { source }: ModelCopy): number => world.numbers.get(source)!
