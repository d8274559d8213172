import test from 'ava'
import type { Gap } from '../../src/domain/gap.ts'
import type { Item } from '../../src/domain/page.ts'
import { carriedOver, sinceWhen } from '../../src/gateway/carried-over.ts'
import { listingText } from '../helpers/fake-registry.ts'
import { itemOf } from './gateway-parts.ts'

const MANY = 100

/** Listings by key, `id of registry` or `id of registry, also of others`. */
const listings = (...texts: string[]): Map<string, Item> =>
  new Map(
    texts.map((text) => {
      const [listing_id, ...registries] = text.split(/ of |, also of /)
      const [registry = '', ...alsoIn] = registries
      const item = itemOf(listingText({ listing_id }))
      return [text, { ...item, origin: { registry, alsoIn, stale: false, differs: false } }]
    }),
  )

const missing = (...names: string[]): Gap[] =>
  names.map((registry) => ({ registry, state: 'unavailable', reason: 'timeout' }))

const carried = (held: Map<string, Item>, pulled: Map<string, Item>, gaps: Gap[], most = MANY): string[] =>
  [...carriedOver(held, { listings: pulled, gaps }, most)].map(
    ([key, { origin }]) => `${key}${origin?.stale ? ' (old)' : ''}`,
  )

test('what is held of a missing Registry stays, as old; what another one no longer has goes', (t) => {
  const held = listings('1 of a', '2 of a', '3 of b', '4 of eu/b', '5 of eu/c', '6 of c, also of a')
  t.deepEqual(carried(held, listings('1 of a'), missing('b')), ['1 of a', '3 of b (old)'])
  t.deepEqual(carried(held, listings(), missing('eu')), ['4 of eu/b (old)', '5 of eu/c (old)'])
  t.deepEqual(carried(held, listings(), missing('eu/c', 'a')), [
    '1 of a (old)',
    '2 of a (old)',
    '5 of eu/c (old)',
    '6 of c, also of a (old)',
  ])
  t.deepEqual(carried(held, listings(), missing('eu/*')), ['4 of eu/b (old)', '5 of eu/c (old)'])
  t.is(carried(held, listings(), missing('*')).length, 6)
  t.deepEqual(carried(held, listings(), missing('a', 'b'), 2), ['1 of a (old)', '2 of a (old)'])
})

test('a listing that comes from elsewhere now is not there twice', (t) => {
  t.deepEqual(carried(listings('1 of a'), listings('1 of b'), missing('a')), ['1 of b'])
})

test('what was never heard of has no age, what is still missing has that of the last time', (t) => {
  const [a] = missing('a')
  t.is(sinceWhen(a!, null).heardAt, undefined)
  t.is(sinceWhen(a!, { takenAt: 7 }).heardAt, 7)
  t.is(sinceWhen(a!, { takenAt: 7, gaps: missing('b') }).heardAt, 7)
  t.is(sinceWhen(a!, { takenAt: 7, gaps: [{ ...a!, heardAt: 3 }] }).heardAt, 3)
  t.is(sinceWhen(a!, { takenAt: 7, gaps: missing('a') }).heardAt, undefined)
  t.is(sinceWhen(a!, { takenAt: 7, gaps: missing('*') }).heardAt, undefined)
})
