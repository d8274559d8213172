import test from 'ava'
import fc from 'fast-check'
import { parseTimestamp } from '../../../../src/domain/timestamp.ts'
import { OVERLAP } from '../../../../src/domain/walk/walk.ts'
import {
  envelopeText,
  idOf,
  listingText,
  listingTexts,
  type SeenRequest,
} from '../../../helpers/fake-registry.ts'
import { runs } from '../../../helpers/runs.ts'
import { filterOf } from '../../../helpers/specs.ts'
import { failureOf, filtered, idsOf, openUpstream, textsOf } from '../../../helpers/upstream.ts'

const ALL = { count: Number.POSITIVE_INFINITY }
/** The upstream reports as many as this before its pages are read. */
const MANY = { scanLimit: 10_000 }

test('everything is read, to the byte, whatever the size of the pages', async (t) => {
  const items = listingTexts('a', 1234)
  for (const pageSize of [200, 100, 25]) {
    const { read } = await openUpstream(t, { items, pageSize }, MANY)
    const reading = await read({}, ALL)
    t.deepEqual(textsOf(reading), items, String(pageSize))
    t.like(reading, { total: 1234, hasMore: false, invalid: undefined })
  }
})

test('an upstream without listings has answered', async (t) => {
  const { read, fake } = await openUpstream(t)
  t.like(await read(), { listings: [], hasMore: false, total: 0 })
  t.is(fake.requests.length, 1)
})

test('requests ask for little more than is wanted', async (t) => {
  const items = listingTexts('a', 3000)
  for (const range of [
    { count: 1 },
    { count: 60 },
    { count: 150 },
    { count: 250 },
    { count: 50, ...behind(items, 40) },
    { count: 50, ...behind(items, 1999) },
  ]) {
    const { read, fake } = await openUpstream(t, { items }, MANY)
    t.is((await read({}, range)).listings.length, range.count)
    const rows = fake.requests.reduce((sum, { parameters }) => sum + Number(parameters.get('limit')), 0)
    t.true(rows <= Math.max(50, range.count) + 2 * (OVERLAP + 1), asked(fake.requests))
    t.is(fake.requests.length, Math.ceil(range.count / (200 - OVERLAP)))
  }
})

test('a range begins behind its key, wherever its hint points', async (t) => {
  const items = listingTexts('a', 1000)
  for (const offsetHint of [0, 300, 500, 510, 700, 5000]) {
    const { read } = await openUpstream(t, { items }, MANY)
    const reading = await read({}, { ...behind(items, 499), offsetHint, count: 30 })
    t.deepEqual(idsOf(reading), items.slice(500, 530).map(idOf), String(offsetHint))
  }
})

test('deleting fewer listings than pages overlap costs no further request', async (t) => {
  const items = listingTexts('a', 1000)
  const quiet = await openUpstream(t, { items }, MANY)
  await quiet.read({}, { count: 600 })
  const busy = await openUpstream(t, { items }, MANY)
  busy.fake.beforePage = (request) => request > 1 && busy.fake.items.splice(0, OVERLAP - 1)
  const { listings } = await busy.read({}, { count: 600 })
  t.is(listings.length, 600)
  t.true(busy.fake.requests.length <= quiet.fake.requests.length)
})

test('a page that does not join is read again from further back', async (t) => {
  const items = listingTexts('a', 400)
  const { read, fake } = await openUpstream(t, { items })
  fake.beforePage = (request) => request === 2 && fake.items.splice(0, 50)
  const reading = await read({}, { count: 300 })
  t.deepEqual(idsOf(reading).slice(0, 300), items.slice(0, 300).map(idOf))
})

test('a listing that was given a newer or older date meanwhile joins no pages', async (t) => {
  const items = listingTexts('a', 400)
  for (const at of [215, 260]) {
    const { read, fake } = await openUpstream(t, { items })
    fake.beforePage = (request) => {
      if (request !== 2) return
      // The listing that is moved was on the first page, and comes again on the second.
      const [moved = ''] = fake.items.splice(100, 1)
      fake.items.splice(at - 1, 0, listingText({ ...JSON.parse(moved), created_at: createdAt(items[at]!) }))
      fake.items.splice(0, 25)
    }
    const ids = new Set(idsOf(await read({}, ALL)))
    const unchanged = items.filter((_, n) => n !== 100)
    t.deepEqual(
      unchanged.filter((item) => !ids.has(idOf(item))),
      [],
      String(at),
    )
  }
})

test('an empty page is not the end where the end has moved up', async (t) => {
  const items = listingTexts('a', 260)
  const { read, fake } = await openUpstream(t, { items })
  fake.beforePage = (request) => request === 2 && fake.items.splice(0, 200)
  t.deepEqual(idsOf(await read({}, ALL)), items.map(idOf))
})

test('publishes and deletions while reading: a listing that stays is read, none twice', async (t) => {
  const change = fc.record({ at: fc.nat(999), gone: fc.nat(40), come: fc.nat(14) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { maxLength: 6 }),
      fc.constantFrom(25, 60, 200),
      fc.integer({ min: 1, max: 500 }),
      async (changes, pageSize, count) => {
        const items = listingTexts('a', 400)
        const { read, fake } = await openUpstream(t, { items, pageSize })
        const stays = new Set(items.map(idOf))
        const todo = [...changes]
        fake.beforePage = (request) => {
          const next = request === 1 ? undefined : todo.shift()
          if (next === undefined) return
          const from = Math.floor((next.at / 1000) * fake.items.length)
          for (const item of fake.items.splice(from, next.gone)) stays.delete(idOf(item))
          const fresh = listingTexts(`new-${todo.length}`, next.come, { created_at: '2027-01-01T00:00:00' })
          fake.items.unshift(...fresh)
        }
        const reading = await read({}, { count })
        const ids = idsOf(reading)
        t.is(new Set(ids).size, ids.length)
        const last = reading.hasMore ? (ids.at(-1) ?? '') : '\uffff'
        t.deepEqual(
          [...stays].filter((id) => id <= last && !ids.includes(id)),
          [],
          `${last} ${ids.length} ${reading.hasMore} ${asked(fake.requests)}`,
        )
        t.true(fake.requests.length <= 60, asked(fake.requests))
      },
    ),
    { numRuns: runs(40), includeErrorInReport: true },
  )
})

test('an upstream that changes faster than it can be read is unstable', async (t) => {
  const { read, fake } = await openUpstream(t, {}, MANY)
  let made = 0
  fake.beforePage = () => {
    const texts = listingTexts(`x${made}`, 200, { created_at: `19${99 - made++}-01-01T00:00:00` })
    fake.script = [{ kind: 'body', body: envelopeText(texts, 1_000_000) }]
  }
  const after = { position: parseTimestamp('2026-01-01T00:00:00')!, listingId: 'a' }
  const error = await failureOf(t, read({}, { after, offsetHint: 500_000, count: 10 }))
  t.is(error.reason, 'unstable')
  t.true(fake.requests.length <= 12, asked(fake.requests))
})

for (const [what, items, total] of [
  ['a total without items', [], 7],
  ['one item a page', listingTexts('a', 1), 300],
] as const)
  test(`${what} is bad_envelope, not the end`, async (t) => {
    const { read } = await openUpstream(t, { script: [{ kind: 'body', body: envelopeText(items, total) }] })
    t.is((await failureOf(t, read())).reason, 'bad_envelope')
  })

test('a page without a readable item is bad_envelope, also behind readable ones', async (t) => {
  const items = [...listingTexts('a', 200), ...listingTexts('b', 400, { created_at: null })]
  const { read } = await openUpstream(t, { items })
  t.like(await read(), { hasMore: true })
  t.is((await failureOf(t, read({}, ALL))).reason, 'bad_envelope')
})

test('unreadable items are counted once and hide nothing behind them', async (t) => {
  const items = listingTexts('a', 500).map((text, n) => (n >= 150 && n < 250 ? '{"status":"open"}' : text))
  const { read } = await openUpstream(t, { items })
  t.like(await read({}, ALL), { total: 400, invalid: 100 })
  const { read: readPart } = await openUpstream(t, { items })
  t.like(await readPart({}, { count: 180 }), { total: 400, invalid: 100 })
})

test('a small upstream that does not sort is read whole and sorted', async (t) => {
  const sorted = listingTexts('a', 600)
  const items = shuffled(sorted)
  for (const range of [{ count: 20 }, ALL, { count: 20, ...behind(sorted, 299) }]) {
    const { read } = await openUpstream(t, { items })
    const from = 'after' in range ? 300 : 0
    const reading = await read({}, range)
    t.deepEqual(idsOf(reading), sorted.slice(from, from + range.count).map(idOf))
    t.is(reading.total, 600)
  }
})

test('listings of one instant may lie over page borders in any order', async (t) => {
  const at = { created_at: '2026-11-19T12:00:00' }
  const items = [...listingTexts('a', 30), ...shuffled(listingTexts('tie', 320, at))]
  const expected = items.map(idOf).sort()
  const { read } = await openUpstream(t, { items })
  for (const [first, count] of [
    [0, 30],
    [0, 50],
    [29, 10],
    [99, 100],
    [320, 100],
  ] as const) {
    const last = expected[first]!
    const after = first === 0 ? null : { position: positionOf(items, last), listingId: last }
    const start = after === null ? 0 : first + 1
    const ids = idsOf(await read({}, { after, offsetHint: start, count }))
    const isWithinTie = start + count > 30
    t.deepEqual(ids, isWithinTie ? expected.slice(start) : expected.slice(start, start + count))
  }
  const many = await openUpstream(t, { items: [...items.slice(0, 30), ...listingTexts('tie', 2200, at)] })
  t.is((await many.read({}, { count: 20 })).listings.length, 20)
  t.is((await failureOf(t, many.read({}, { count: 31 }))).reason, 'unsorted')
})

test('listings that are published while they are counted hide no others', async (t) => {
  const items = listingTexts('a', 60)
  const counted = { kind: 'body', body: envelopeText(items.slice(0, 51), 51) } as const
  const { read } = await openUpstream(t, { items, script: [counted, { kind: 'serve' }] })
  t.true((await read()).hasMore)
  t.deepEqual(idsOf(await read({}, ALL)), items.map(idOf))
})

test('a file of listings, which ignores limit and offset, is read whole', async (t) => {
  const items = listingTexts('a', 200)
  const { read, fake } = await openUpstream(t, { script: [{ kind: 'body', body: envelopeText(items, 200) }] })
  t.deepEqual(idsOf(await read({}, ALL)), items.map(idOf))
  t.is(fake.requests.length, 2)
})

for (const [what, offsetOf] of [
  ['ignores offset', () => 0],
  ['serves no offset beyond 150', (offset: number) => Math.min(offset, 150)],
] as const)
  test(`an upstream that ${what} is not whole, whatever its total`, async (t) => {
    for (const total of [361, 517, 570, 571, 580]) {
      const items = listingTexts('a', total)
      const { read, fake } = await openUpstream(t, { items })
      fake.beforePage = () => {
        const { parameters } = fake.requests.at(-1)!
        const start = offsetOf(Number(parameters.get('offset')))
        const page = items.slice(start, start + Number(parameters.get('limit')))
        fake.script = [{ kind: 'body', body: envelopeText(page, total) }]
      }
      for (const range of [ALL, { count: total }, { count: 50, ...behind(items, 190), offsetHint: 320 }]) {
        const { reason } = await failureOf(t, read({}, range))
        t.true(reason === 'unstable' || reason === 'bad_envelope', `${total} ${reason}`)
      }
      t.true(fake.requests.length <= 25, asked(fake.requests))
    }
  })

test('as many publishes as deletions at once are read again from the top, but a few are not', async (t) => {
  for (const [count, expected] of [
    [50, 8],
    [3, 3],
  ] as const) {
    const items = listingTexts('a', 400)
    const { read, fake } = await openUpstream(t, { items })
    fake.beforePage = (request) => {
      if (request !== 2) return
      fake.items.splice(-count)
      fake.items.unshift(...listingTexts('new', count, { created_at: '2027-01-01T00:00:00' }))
    }
    const ids = new Set(idsOf(await read({}, { count: 400 })))
    const added = fake.items.filter((item) => ids.has(idOf(item))).length
    t.is(added, count === 50 ? 400 : 397)
    t.true(fake.requests.length <= expected, asked(fake.requests))
  }
})

test('an upstream that has one id twice is read once', async (t) => {
  const items = listingTexts('a', 450)
  items[5] = items[300]!.replace(/"created_at":"[^"]*"/, `"created_at":"${createdAt(items[5]!)}"`)
  const { read, fake } = await openUpstream(t, { items })
  t.is((await read({}, ALL)).total, 449)
  t.is(fake.requests.length, 3)
})

test('a listing that moves between two skipped ones is read', async (t) => {
  const items = listingTexts('a', 100)
  const [skipped = '', moved = '', next = ''] = items.slice(60)
  const { read, fake } = await openUpstream(t, { items, failing: new Set([idOf(skipped), idOf(next)]) })
  fake.beforePage = () => {
    const { parameters } = fake.requests.at(-1)!
    const isAfterSkip = parameters.get('offset') === '61' && parameters.get('limit') === '1'
    if (isAfterSkip && fake.items.includes(skipped)) fake.items.splice(60, 1)
  }
  const ids = idsOf(await read({}, ALL))
  t.false(fake.items.includes(skipped))
  t.true(ids.includes(idOf(moved)))
  t.is(ids.length, 98)
})

test('an upstream that answers 500 to everything is asked three times for one question', async (t) => {
  const { read, fake } = await openUpstream(t, { script: [{ kind: 'status', status: 500 }] })
  const query = { publisher: '0xabc' }
  t.is((await failureOf(t, read(query))).reason, 'http_500')
  const own = fake.requests.filter(({ parameters }) => parameters.has('publisher'))
  t.is(asked(own), '0+51 0+1 51+1')
})

test('a Registry has an id once, a gateway once for each publisher', async (t) => {
  const items = [1, 2].map((publisher_id) =>
    listingText({
      publisher_id,
      _meta: { registry: 'curated', publisher: `0x${`${publisher_id}`.repeat(40)}` },
    }),
  )
  for (const [kind, count] of [
    ['registry', 1],
    ['gateway', 2],
  ] as const) {
    const { read } = await openUpstream(t, { items, kind })
    t.is((await read()).listings.length, count)
  }
})

test('a status or filter that the upstream ignores is applied here, up to scan_limit', async (t) => {
  const items = listingTexts('a', 600).map((text, n) =>
    n % 10 === 1 ? text.replace('"open"', '"closed"') : n % 10 === 0 ? text : text.replace('H100', 'A100'),
  )
  const ignoring = { items, matches: () => true }
  const model = filterOf('gpu_model')
  const query = filtered([model], ['gpu_model', 'H100'])
  const { read, fake } = await openUpstream(t, ignoring)
  t.like(await read({}, { count: 30 }), { hasMore: true })
  t.is(asked(fake.requests), '0+51')
  t.like(await read({}, ALL), { total: 540, hasMore: false })
  const { read: readFew } = await openUpstream(t, ignoring, { scanLimit: 500 })
  const error = await failureOf(t, readFew(query))
  t.deepEqual([error.reason, error.filters], ['unsupported_filter', ['gpu_model']])
})

test('a gateway that rejects its own cursor is read again from the top', async (t) => {
  const items = listingTexts('a', 500)
  const { read, fake } = await openUpstream(t, { items, kind: 'gateway' })
  const refusal = { kind: 'status', status: 400, body: '{"detail":"cursor: has expired"}' } as const
  fake.script = [{ kind: 'serve' }, refusal, { kind: 'serve' }]
  t.deepEqual(idsOf(await read({}, ALL)), items.map(idOf))
  t.is((await read({}, { ...behind(items, 399), resume: 'of another life', count: 10 })).listings.length, 10)
})

test('a gateway that refuses every cursor is given up after few requests', async (t) => {
  const { read, fake } = await openUpstream(t, { items: listingTexts('a', 500), kind: 'gateway' })
  fake.beforePage = (request) => {
    const isRefused = fake.requests.at(-1)!.parameters.has('cursor')
    const refusal = { kind: 'status', status: request < 30 ? 400 : 401 } as const
    fake.script = [isRefused ? refusal : { kind: 'serve' }]
  }
  t.is((await failureOf(t, read({}, ALL))).reason, 'http_400')
  t.is(fake.requests.length, 4)
})

test('an empty page behind a cursor is the end of a gateway, however far it is', async (t) => {
  const items = listingTexts('a', 2050)
  const { read, fake } = await openUpstream(t, { items, kind: 'gateway' }, MANY)
  fake.beforePage = (request) => request === 11 && fake.items.splice(2000)
  t.deepEqual(idsOf(await read({}, ALL)), items.slice(0, 2000).map(idOf))
  t.is(fake.requests.length, 11)
})

for (const [what, next_cursor] of [
  ['longer than any request', 'x'.repeat(20_000)],
  ['not Unicode', '\ud800'],
  ['a number', 7],
] as const)
  test(`a gateway whose cursor is ${what} is bad_envelope, and does not end there`, async (t) => {
    const envelope = { next_cursor }
    const { read } = await openUpstream(t, { items: listingTexts('a', 450), kind: 'gateway', envelope })
    t.is((await failureOf(t, read({}, ALL))).reason, 'bad_envelope')
  })

for (const [what, page] of [
  ['empty pages', () => envelopeText([], 0, { complete: true, sources: [], next_cursor: 'again' })],
  [
    'new listings for ever',
    (request: number) =>
      envelopeText(
        listingTexts(`x${request}`, 200, { created_at: new Date(1.7e12 - request * 1e6).toISOString() }),
        5,
        { complete: true, sources: [], next_cursor: `${request}` },
      ),
  ],
] as const)
  test(`a gateway whose cursors lead to ${what} is given up`, async (t) => {
    const { read, fake } = await openUpstream(t, { kind: 'gateway' })
    fake.beforePage = (request) => {
      fake.script = [{ kind: 'body', body: page(request) }]
    }
    await failureOf(t, read(filtered([filterOf('gpu_model')], ['gpu_model', 'H100'])))
    t.true(fake.requests.length <= 15, String(fake.requests.length))
  })

test('a gateway that never comes to the range is not read after the time limit', async (t) => {
  const { read, fake, clock } = await openUpstream(t, { kind: 'gateway' })
  fake.beforePage = (request) => {
    const items = listingTexts(`x${request}`, 200)
    const more = { complete: true, sources: [], next_cursor: `${request}` }
    fake.script = [{ kind: 'body', body: envelopeText(items, 5, more) }]
    if (request === 5) clock.advance(60_000)
  }
  const after = { position: parseTimestamp('2026-01-01T00:00:00')!, listingId: 'a' }
  t.is((await failureOf(t, read({}, { after, offsetHint: 100, count: 10 }))).reason, 'timeout')
  for (let n = 0; n < 5; n++) await read({ listingId: `other-${n}` })
  t.is(fake.requests.filter(({ parameters }) => parameters.has('limit')).length, 5)
})

/** A range behind the nth of these. */
function behind(items: readonly string[], n: number) {
  const item = items[n]!
  return { after: { position: positionOf(items, idOf(item)), listingId: idOf(item) }, offsetHint: n + 1 }
}

function positionOf(items: readonly string[], id: string): number {
  return parseTimestamp(createdAt(items.find((item) => idOf(item) === id)!))!
}

function createdAt(item: string): string {
  return JSON.parse(item).created_at
}

/** `offset+limit` of each request. */
function asked(requests: readonly SeenRequest[]): string {
  return requests.map(({ parameters }) => `${parameters.get('offset')}+${parameters.get('limit')}`).join(' ')
}

function shuffled(items: readonly string[]): string[] {
  return items.toSorted((a, b) => rank(a) - rank(b))
}

/** Any order that is the same in every run. */
function rank(item: string): number {
  let hash = 7
  for (const char of idOf(item)) hash = (hash * 31 + char.charCodeAt(0) * 7919) % 10_007
  return hash
}
