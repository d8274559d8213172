import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import type { Copy } from '../../../src/listing-index/copy.ts'
import { SourceSet } from '../../../src/listing-index/source-set.ts'
import { runs } from '../../helpers/runs.ts'
import { run } from '../../helpers/steps.ts'
import {
  decideAll,
  documentOf,
  inOrder,
  isOut,
  type ModelCopy,
  move,
  type Question,
  question,
  SOURCES,
  sizes,
  World,
} from './copies.ts'

/** Later than some copies. */
const CAP = 15

const moves = fc.array(move, { minLength: 10, maxLength: 60 })
const questions = fc.array(question, { minLength: 3, maxLength: 3 })

test('ranking: what any question shows is what the rule of authority decides over all copies, after any changes', (t) => {
  fc.assert(
    fc.property(moves, questions, sizes, (steps, asked, size) => {
      const world = new World(size)
      for (const [n, step] of steps.entries()) {
        world.make(step)
        if (n % 5 === 4 || n === steps.length - 1)
          for (const one of asked) {
            comparePages(t, world, one)
            compareGroups(t, world, one)
            if (one.standing.criteria.length === 0) compareCounts(t, world, one)
          }
      }
      t.is(world.index.selfCheck(world.ranking, 20), 0)
      t.is(
        world.ranking.leavesOut,
        world.copies.some((copy) => isOut(copy, world.blocked)),
      )
    }),
    { numRuns: runs(1000) },
  )
})

function comparePages(t: ExecutionContext, world: World, asked: Question): void {
  const { criteria, isChecked, status } = asked
  const shown = decideAll(world, asked).filter(({ isShown }) => isShown)
  const expected = shown
    .map(({ decider }) => decider)
    .filter((copy) => matchesAll(criteria, documentOf(copy)) && !(isChecked && copy.isUnchecked))
  const lanes = isChecked ? { lanes: ({ isUnchecked }: { isUnchecked: boolean }) => !isUnchecked } : {}
  const matches = run(world.index.match(world.scope(asked), { status, criteria, ...lanes }))
  const page = (range: Parameters<typeof matches.page>[0]) => namesOf(world, matches.page(range))
  t.is(matches.total, expected.length)
  t.deepEqual(page({ limit: 100 }), modelNames(inOrder(expected)))
  const capped = modelNames(inOrder(expected, CAP))
  t.deepEqual(page({ limit: 100, cap: CAP }), capped)
  t.deepEqual(page({ limit: 3, offset: 2, cap: CAP }), capped.slice(2, 5))
  for (const [n, copy] of matches.page({ limit: 100, cap: CAP }).entries()) {
    const after = { position: copy.position, key: copy.key, source: nameIn(world, copy) }
    t.deepEqual(page({ limit: 100, after, cap: CAP }), capped.slice(n + 1))
  }
}

function compareGroups(t: ExecutionContext, world: World, asked: Question): void {
  const { index } = world
  const scope = world.scope(asked)
  for (const { decider, otherCopies, isShown, isConflict } of decideAll(world, asked)) {
    if (!isShown) continue
    const copy = index.get(world.numbers.get(decider.source)!, decider.key)!
    const group = index.groupOf(copy, scope, asked.status)!
    t.deepEqual(namesOf(world, group.otherCopies), modelNames(otherCopies))
    t.is(group.isConflict, isConflict)
  }
}

function compareCounts(t: ExecutionContext, world: World, asked: Question): void {
  const { criteria, status } = asked
  const isMatch = (copy: ModelCopy) =>
    (status === null || copy.status === status) && matchesAll(criteria, documentOf(copy))
  const decisions = decideAll(world, asked)
  const all = decisions.flatMap(({ decider, otherCopies }) => [decider, ...otherCopies]).filter(isMatch)
  const shown = decisions.flatMap(({ isShown, decider }) => (isShown && isMatch(decider) ? [decider] : []))
  const counts = run(world.index.match(world.scope(asked), { status, criteria })).bySource()
  for (const name of SOURCES) {
    const isOf = ({ source }: ModelCopy) => source === name
    const matched = all.filter(isOf).length
    const hidden = matched - shown.filter(isOf).length
    t.deepEqual(counts.get(world.numbers.get(name)!) ?? { matched: 0, hidden: 0 }, { matched, hidden })
  }
}

test('ranking: each listing that a question shows otherwise than before is reported in the turn of the change', (t) => {
  fc.assert(
    fc.property(moves, question, sizes, (steps, asked, size) => {
      const world = new World(size)
      const shown = () => {
        const scope = world.scope(asked)
        const copies = run(world.index.match(scope, { status: asked.status, criteria: [] })).copies()
        return Map.groupBy(
          Array.from(
            copies,
            (copy) => [copy.listingId, `${nameIn(world, copy)} ${contentOf(copy)}`] as const,
          ),
          ([id]) => id,
        )
      }
      for (const step of steps) {
        const before = shown()
        world.touched.clear()
        world.make(step)
        if (step.kind === 'reload') continue
        const after = shown()
        for (const id of new Set([...before.keys(), ...after.keys()]))
          if (JSON.stringify(before.get(id)?.sort()) !== JSON.stringify(after.get(id)?.sort()))
            t.true(world.touched.has(id), `${step.kind} ${id}`)
      }
    }),
    { numRuns: runs(300) },
  )
})

test('ranking: the self-check finds what is decided of sellers and rules of before', (t) => {
  const world = new World({ tail: 3, segment: 16, step: 8 })
  const { index, ranking, numbers } = world
  const sellers = ['own', 'b'].map((name) => {
    const source = numbers.get(name as 'own')!
    const seller = index.sellers.numberOf({ publisher: null, storefrontUrl: `https://${name}` }, name)
    index.put(source, { key: 'a', seller, status: 'open', position: 1, bytes: Buffer.from('{}') })
    return seller
  })
  t.is(index.selfCheck(ranking), 0)
  // Past the index, which would decide again.
  for (const seller of sellers) index.sellers.learn(seller, { publisher: '0xa', storefrontUrl: null })
  t.true(index.selfCheck(ranking) > 0)
  index.decideAgain(ranking, ['a'])
  t.is(index.selfCheck(ranking), 0)
  world.blocked.add('0xa')
  t.true(index.selfCheck(ranking) > 0)
  index.decideAgain(ranking, ['a'])
  t.is(index.selfCheck(ranking), 0)
  const sources = new SourceSet(numbers.values())
  t.is(run(index.match({ ranking, sources }, { status: 'open', criteria: [] })).total, 0)
})

const nameIn = ({ index }: World, { source }: Pick<Copy, 'source'>): string => index.about(source).name
const namesOf = (world: World, copies: Iterable<Copy>): string[] =>
  Array.from(copies, (copy) => `${nameIn(world, copy)} ${copy.key}`)
const modelNames = (copies: readonly ModelCopy[]): string[] =>
  copies.map(({ source, key }) => `${source} ${key}`)
const contentOf = ({ key, publisher, position, status, bytes }: Copy): string =>
  [key, publisher, position, status, Buffer.from(bytes).toString()].join(' ')
