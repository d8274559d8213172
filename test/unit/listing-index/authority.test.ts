import test from 'ava'
import fc from 'fast-check'
import type { ListingStatus } from '../../../src/domain/listing.ts'
import { decide, type RankedCopy } from '../../../src/listing-index/authority.ts'
import { runs } from '../../helpers/runs.ts'

type Copy = RankedCopy & { model: string }

const copies: fc.Arbitrary<Copy[]> = fc
  .uniqueArray(
    fc.record({
      rank: fc.nat(4),
      publisher: fc.constantFrom('0xa', '0xb', null),
      storefrontUrl: fc.constantFrom('https://a', 'https://b', null),
      status: fc.constantFrom<ListingStatus>('open', 'closed'),
      model: fc.constantFrom('H200', 'A100'),
    }),
    // A source has one copy of a listing.
    {
      selector: ({ rank, publisher, storefrontUrl }) => `${rank} ${publisher ?? `at ${storefrontUrl}`}`,
      maxLength: 8,
    },
  )
  .map((drawn) =>
    drawn.map(({ publisher, storefrontUrl, ...copy }) => {
      return { ...copy, item: { publisher, storefrontUrl }, isOwn: copy.rank === 0 }
    }),
  )
const wanted = fc.constantFrom<ListingStatus | null>('open', 'closed', null)
const matches = ({ model }: Copy): boolean => model === 'H200'

test('authority: a copy is shown if and only if it matches and no better source has the listing', (t) => {
  fc.assert(
    fc.property(copies, wanted, (all, status) => {
      const shown = decide(all, { status, matches }).filter((one) => one.isShown)
      for (const copy of all) {
        const has = ({ status: own }: Copy) => status === null || own === status
        const better = all.filter(
          (other) =>
            other.rank < copy.rank &&
            isOneListing(other, copy) &&
            (has(other) || (other.isOwn && status === 'open')),
        )
        const expected = has(copy) && matches(copy) && better.length === 0
        t.is(
          shown.some(({ decider }) => decider === copy),
          expected,
        )
      }
    }),
    { numRuns: runs(2000) },
  )
})

test('authority: filters change whether a decider is shown, and never which copy decides', (t) => {
  fc.assert(
    fc.property(copies, wanted, (all, status) => {
      const strip = (one: object) => ({ ...one, isShown: null, isConflict: null })
      t.deepEqual(decide(all, { status, matches }).map(strip), decide(all, { status }).map(strip))
    }),
    { numRuns: runs(1000) },
  )
})

test('authority: a listing outside the view is in no conflict', (t) => {
  fc.assert(
    fc.property(copies, wanted, (all, status) => {
      const decisions = decide(all, { status, matches })
      const outside = new Set(
        decisions
          .filter(({ decider }) => !matches(decider))
          .flatMap(({ decider, otherCopies }) => [decider, ...otherCopies]),
      )
      const shown = (made: typeof decisions) => made.filter(({ isShown }) => isShown)
      const never = decide(
        all.filter((copy) => !outside.has(copy)),
        { status, matches },
      )
      t.deepEqual(shown(decisions), shown(never))
    }),
    { numRuns: runs(1000) },
  )
})

test('authority: the order in which copies come changes nothing but the order of the decisions', (t) => {
  fc.assert(
    fc.property(copies, wanted, (all, status) => {
      const inOrder = (decisions: ReturnType<typeof decide<Copy>>) =>
        decisions
          .map((one) => ({ ...one, otherCopies: new Set(one.otherCopies) }))
          .sort((a, b) => all.indexOf(a.decider) - all.indexOf(b.decider))
      t.deepEqual(inOrder(decide([...all].reverse(), { status })), inOrder(decide(all, { status })))
    }),
    { numRuns: runs(1000) },
  )
})

test('authority: a copy with a known publisher and one without are two listings, as a conflict', (t) => {
  const copy = (rank: number, publisher: string | null): Copy => ({
    item: { publisher, storefrontUrl: 'https://a' },
    rank,
    status: 'open',
    isOwn: false,
    model: 'H200',
  })
  const decisions = decide([copy(0, null), copy(1, '0xa')], { status: 'open' })
  t.deepEqual(
    decisions.map(({ decider, isShown, isConflict }) => [decider.rank, isShown, isConflict]),
    [
      [0, true, true],
      [1, true, true],
    ],
  )
  t.is(decide([copy(0, null), copy(1, null)], { status: 'open' }).length, 1)
})

function isOneListing({ item: a }: Copy, { item: b }: Copy): boolean {
  if (a.publisher !== null || b.publisher !== null) return a.publisher === b.publisher
  return a.storefrontUrl !== null && a.storefrontUrl === b.storefrontUrl
}
