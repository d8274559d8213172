import test from 'ava'
import fc from 'fast-check'
import { merge, type SourceAnswer, shownName } from '../../src/domain/merge.ts'
import type { Item } from '../../src/domain/page.ts'

const ALL = { offset: 0, limit: Number.MAX_SAFE_INTEGER }

const item = (fields: Partial<Item> & { offer?: unknown } = {}): Item => {
  const { offer = {}, ...rest } = fields
  const listingId = rest.listingId ?? 'a'
  const bytes = Buffer.from(
    JSON.stringify({ listing_id: listingId, offer_resource: offer, accepted_escrows: [] }),
  )
  return { bytes, listingId, createdAt: 1000, storefrontUrl: 'http://s', publisher: null, ...rest }
}

const answer = (
  name: string,
  priority: number,
  items: Item[],
  more: { total?: number; stale?: boolean } = {},
) => ({
  source: { name, priority },
  page: { items, total: more.total ?? items.length, ageSeconds: 0, stale: more.stale ?? false },
})

/** Few ids, publishers, URLs and times, so that copies, conflicts and ties are common. */
const items = fc.uniqueArray(
  fc
    .record({
      listingId: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      createdAt: fc.integer({ min: 0, max: 5 }),
      storefrontUrl: fc.constantFrom('http://s', 'http://t', null),
      publisher: fc.constantFrom('0x1', '0x2', null),
      offer: fc.constantFrom(1, 2),
    })
    .map(item),
  { maxLength: 8, selector: ({ listingId, storefrontUrl }) => `${listingId} ${storefrontUrl}` },
)

const answers = fc
  .array(
    fc.record({ items, priority: fc.integer({ min: 0, max: 2 }), surplus: fc.nat(5), stale: fc.boolean() }),
    {
      maxLength: 5,
    },
  )
  .map((parts) =>
    parts.map(({ items, priority, surplus, stale }, n) =>
      answer(`source-${n}`, priority, items, { total: items.length + surplus, stale }),
    ),
  )

test('the result does not depend on the order in which answers arrive', (t) => {
  fc.assert(
    fc.property(
      answers.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([inOrder, asArrived]) => {
        t.deepEqual(merge(asArrived, ALL), merge(inOrder, ALL))
      },
    ),
  )
})

test('page k of size n is the slice [kn, kn + n) of the whole merged sequence', (t) => {
  fc.assert(
    fc.property(answers, fc.integer({ min: 1, max: 7 }), (all, limit) => {
      const whole = merge(all, ALL)
      for (let offset = 0; offset <= whole.items.length; offset += limit) {
        const page = merge(all, { offset, limit })
        t.deepEqual(page, { items: whole.items.slice(offset, offset + limit), total: whole.total })
      }
    }),
  )
})

test('the newest come first, then the lower priority number, then the smaller id', (t) => {
  fc.assert(
    fc.property(answers, (all) => {
      const rank = new Map(all.map(({ source }) => [source.name, source.priority]))
      const keys = merge(all, ALL).items.map(({ item, registry }) => [
        -item.createdAt,
        rank.get(registry) ?? Number.NaN,
      ])
      for (const [n, key] of keys.entries()) {
        const before = keys[n - 1]
        if (before !== undefined)
          t.true(before[0]! < key[0]! || (before[0] === key[0] && before[1]! <= key[1]!))
      }
      t.true(keys.length <= all.reduce((sum, { page }) => sum + page.items.length, 0))
    }),
  )
  const one = answer(
    'one',
    1,
    ['b', 'a'].map((listingId) => item({ listingId })),
  )
  t.deepEqual(
    merge([one], ALL).items.map(({ item: { listingId } }) => listingId),
    ['a', 'b'],
  )
})

test('nothing that any source sent is lost: it is shown, or it is a copy of what is shown', (t) => {
  fc.assert(
    fc.property(answers, (all) => {
      const shown = merge(all, ALL).items
      for (const { source, page } of all) {
        for (const one of page.items) {
          t.true(
            shown.some(
              ({ item, registry, alsoIn }) =>
                item === one ||
                (item.listingId === one.listingId &&
                  (registry === source.name || alsoIn.includes(source.name))),
            ),
          )
        }
      }
    }),
  )
})

test('taking a source away takes only its own listings away', (t) => {
  fc.assert(
    fc.property(
      answers.filter((all) => all.length > 0),
      fc.nat(),
      (all, nth) => {
        const gone = all[nth % all.length]!
        const without = merge(
          all.filter((one) => one !== gone),
          ALL,
        )
        const idOf = ({ item }: { item: Item }) => item.listingId
        const idsWithout = without.items.map(idOf)
        for (const merged of merge(all, ALL).items) {
          if (merged.registry !== gone.source.name) t.true(idsWithout.includes(idOf(merged)))
        }
      },
    ),
  )
})

test('where ids are not shared, taking a source away leaves the rest as it was', (t) => {
  fc.assert(
    fc.property(answers, (all) => {
      const apart = all.map(
        ({ source, page }): SourceAnswer => ({
          source,
          page: {
            ...page,
            items: page.items.map((one) => ({ ...one, listingId: `${source.name} ${one.listingId}` })),
          },
        }),
      )
      const [gone] = apart
      const kept = merge(apart, ALL).items.filter(({ registry }) => registry !== gone?.source.name)
      t.deepEqual(kept, merge(apart.slice(1), ALL).items)
    }),
  )
})

test('total counts every distinct listing of sources that were read whole', (t) => {
  fc.assert(
    fc.property(answers, (all) => {
      const whole = all.map(({ source, page }) => ({ source, page: { ...page, total: page.items.length } }))
      const { items, total } = merge(whole, ALL)
      t.is(total, items.length)
      const surplus = all.reduce((sum, { page }) => sum + page.total - page.items.length, 0)
      t.is(merge(all, ALL).total, total + surplus)
    }),
  )
})

test('the lowest priority number is shown, never the newest, and names the others in their order', (t) => {
  const copies = [
    answer('newest', 3, [item({ createdAt: 9000, offer: { price: 1 } })]),
    answer('trusted', 1, [item({ createdAt: 1 })]),
    answer('second', 2, [item({ createdAt: 5000 })], { stale: true }),
  ]
  const [shown, ...others] = merge(copies, ALL).items
  t.like(shown, {
    registry: 'trusted',
    alsoIn: ['second', 'newest'],
    differs: true,
    conflict: false,
    stale: false,
  })
  t.is(shown?.item.createdAt, 1)
  t.is(others.length, 0)
})

test('copies are the same listing by publisher, and by storefront only where a publisher is not known', (t) => {
  const outcome = (one: Partial<Item>, other: Partial<Item>) => {
    const { items, total } = merge([answer('x', 1, [item(one)]), answer('y', 2, [item(other)])], ALL)
    t.is(items.length, total)
    t.true(items.every(({ conflict }) => conflict === total > 1))
    return total === 1 ? 'same' : 'another'
  }
  const known = { publisher: '0x1', storefrontUrl: 'http://s' }
  t.is(outcome(known, { ...known, storefrontUrl: 'http://moved' }), 'same')
  t.is(outcome(known, { ...known, publisher: '0x2' }), 'another')
  t.is(outcome(known, { ...known, publisher: null }), 'same')
  t.is(outcome(known, { publisher: null, storefrontUrl: 'http://t' }), 'another')
  t.is(outcome({ storefrontUrl: null }, { storefrontUrl: null }), 'another')
})

test('copies differ by the value of their offers and escrows, not by their spelling', (t) => {
  const spelled = (text: string) => ({ ...item(), bytes: Buffer.from(text) })
  const differs = (one: string, other: string) =>
    merge([answer('x', 1, [spelled(one)]), answer('y', 2, [spelled(other)])], ALL).items[0]?.differs
  const plain = '{"listing_id":"a","offer_resource":{"sla":99.0,"n":1},"accepted_escrows":[]}'
  t.false(differs(plain, plain))
  t.false(differs(plain, '{"accepted_escrows": [], "offer_resource":{"n":1,"sla":99}, "publisher_id":7}'))
  t.true(differs(plain, plain.replace('"n":1', '"n":2')))
  t.true(differs(plain, plain.replace('[]', '[{}]')))
  t.true(
    differs(plain.replace('"n":1', '"n":9007199254740993'), plain.replace('"n":1', '"n":9007199254740992')),
  )
})

test('an item repeated by its own source counts once and is not called a copy', (t) => {
  const { items, total } = merge([answer('x', 1, [item(), item()])], ALL)
  t.is(total, 1)
  t.like(items[0], { alsoIn: [], conflict: false })
})

test('two publishers are never made one listing by a copy of which nobody knows who published it', (t) => {
  const at = { storefrontUrl: 'http://s' }
  const copies = [
    answer('unattributed', 1, [item(at)]),
    answer('first', 2, [item({ ...at, publisher: '0x1' })]),
    answer('second', 3, [item({ ...at, publisher: '0x2' })]),
  ]
  const { items, total } = merge(copies, ALL)
  t.is(total, 2)
  t.deepEqual(
    items.map(({ registry, alsoIn, conflict }) => ({ registry, alsoIn, conflict })),
    [
      { registry: 'unattributed', alsoIn: ['first'], conflict: true },
      { registry: 'second', alsoIn: [], conflict: true },
    ],
  )
})

/** Every publisher is known, as it is where a Registry's publishers have been learned. */
const attributedAnswers = answers.map((all) =>
  all.map(({ source, page }): SourceAnswer => {
    const items = page.items.map((one) => ({ ...one, publisher: one.publisher ?? '0x3' }))
    const once = new Map(items.map((one) => [`${one.listingId} ${one.publisher}`, one]))
    return { source, page: { ...page, items: [...once.values()], total: once.size } }
  }),
)

const keyOf = ({ listingId, publisher }: Item): string => `${listingId} ${publisher}`
const keysOf = (items: readonly Item[]): string[] => [...new Set(items.map(keyOf))].sort()

test('where publishers are known, each listing of each publisher is there once, from its best source', (t) => {
  fc.assert(
    fc.property(attributedAnswers, (all) => {
      const ranked = all.toSorted(
        (a, b) => a.source.priority - b.source.priority || a.source.name.localeCompare(b.source.name, 'en'),
      )
      const { items, total } = merge(all, ALL)
      t.is(total, items.length)
      t.deepEqual(keysOf(items.map(({ item }) => item)), keysOf(all.flatMap(({ page }) => page.items)))
      for (const { item, registry, alsoIn, conflict } of items) {
        const carriers = ranked.filter(({ page }) => page.items.some((one) => keyOf(one) === keyOf(item)))
        t.deepEqual(
          [registry, ...alsoIn],
          carriers.map(({ source }) => source.name),
        )
        t.is(conflict, items.filter((one) => one.item.listingId === item.listingId).length > 1)
      }
    }),
  )
})

test('where publishers are known, taking a source away takes exactly its copies away', (t) => {
  fc.assert(
    fc.property(
      attributedAnswers.filter((all) => all.length > 0),
      fc.nat(),
      (all, nth) => {
        const gone = all[nth % all.length]!
        const rest = all.filter((one) => one !== gone)
        const isLeft = ({ registry, alsoIn }: { registry: string; alsoIn: readonly string[] }) =>
          registry !== gone.source.name || alsoIn.length > 0
        const kept = merge(all, ALL).items.filter(isLeft)
        t.deepEqual(
          keysOf(merge(rest, ALL).items.map(({ item }) => item)),
          keysOf(kept.map(({ item }) => item)),
        )
      },
    ),
  )
})

test('what lies behind a page is known all the same', (t) => {
  fc.assert(
    fc.property(answers, fc.array(fc.nat(8)), (all, cuts) => {
      const cut = all.map(({ source, page }, n): SourceAnswer => {
        const at = cuts[n] ?? page.items.length
        return { source, page: { ...page, items: page.items.slice(0, at), behind: page.items.slice(at) } }
      })
      t.deepEqual(
        merge(cut, ALL).items.map(({ item, alsoIn }) => ({ item, alsoIn })),
        merge(all, ALL).items.map(({ item, alsoIn }) => ({ item, alsoIn })),
      )
      t.is(merge(cut, ALL).total, merge(all, ALL).total)
    }),
  )
})

test('what a gateway says of its listing is told in names that lead through it', (t) => {
  const origin = { registry: 'curated', alsoIn: ['local', 'fr/open'], stale: true, differs: false }
  const behind = answer('eu', 1, [item({ publisher: '0x1', origin })])
  const own = answer('open-market', 2, [item({ publisher: '0x1' })])
  const other = answer('us', 3, [item({ publisher: '0x1', origin: { ...origin, alsoIn: [], stale: false } })])
  const [shown] = merge([behind, own, other], ALL).items
  t.like(shown, {
    registry: 'eu',
    alsoIn: ['eu/local', 'eu/fr/open', 'open-market', 'us/curated'],
    stale: true,
    differs: false,
  })
  t.is(shownName('eu', behind.page.items[0]!), 'eu/curated')
  t.is(shownName('open-market', own.page.items[0]!), 'open-market')
})
