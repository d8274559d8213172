import test, { type ExecutionContext } from 'ava'
import { OVERLAP } from '../../../../src/domain/walk/walk.ts'
import {
  envelopeText,
  type FakeOptions,
  type FakeRegistry,
  idOf,
  listingText,
  listingTexts,
  type SeenRequest,
} from '../../../helpers/fake-registry.ts'
import { startFake } from '../../../helpers/gateway.ts'
import { failureOf, idsOf, openUpstream, textsOf } from '../../../helpers/upstream.ts'

/** An upstream that was pulled once. `prepare` is called before. */
async function pulled(
  t: ExecutionContext,
  options: FakeOptions = {},
  prepare: (fake: FakeRegistry) => void = () => {},
  kind = options.kind ?? 'registry',
) {
  const fake = await startFake(t, options)
  prepare(fake)
  const upstream = await openUpstream(t, { kind }, { fake })
  await upstream.ready
  return upstream
}

test('everything is read, to the byte, whatever the size of the pages', async (t) => {
  const items = listingTexts('a', 1234)
  for (const pageSize of [200, 100, 25]) {
    const { read } = await pulled(t, { items, pageSize })
    const reading = await read()
    t.deepEqual(textsOf(reading), items, String(pageSize))
    t.like(reading, { total: 1234, invalid: undefined })
  }
})

test('an upstream without listings has answered', async (t) => {
  const { read, fake } = await pulled(t)
  t.like(await read(), { listings: [], total: 0 })
  t.is(fake.requests.length, 1)
})

test('the Age of a cache on the way counts, and a malformed one does not', async (t) => {
  const body = envelopeText(listingTexts('a', 1), 1)
  for (const [age, seconds] of [
    ['17', 17],
    ['old', 0],
  ] as const) {
    const { read, clock } = await pulled(t, { script: [{ kind: 'body', body, headers: { age } }] })
    t.is(clock.monotonic() - (await read()).asOf, seconds * 1000, age)
  }
})

test('deleting fewer listings than pages overlap costs no further request', async (t) => {
  const items = listingTexts('a', 1000)
  const quiet = await pulled(t, { items })
  const busy = await pulled(t, { items }, (fake) => {
    fake.beforePage = (request) => request > 1 && fake.items.splice(0, OVERLAP - 1)
  })
  t.true((await busy.read()).total > 900)
  t.true(busy.fake.requests.length <= quiet.fake.requests.length)
})

test('a listing that was given a newer or older date meanwhile joins no pages', async (t) => {
  const items = listingTexts('a', 400)
  for (const at of [215, 260]) {
    const { read } = await pulled(t, { items }, (fake) => {
      fake.beforePage = (request) => {
        if (request !== 2) return
        // The listing that is moved was on the first page, and comes again on the second.
        const [moved = ''] = fake.items.splice(100, 1)
        fake.items.splice(at - 1, 0, listingText({ ...JSON.parse(moved), created_at: createdAt(items[at]!) }))
        fake.items.splice(0, 25)
      }
    })
    const ids = new Set(idsOf(await read()))
    const unchanged = items.filter((_, n) => n !== 100)
    t.deepEqual(
      unchanged.filter((item) => !ids.has(idOf(item))),
      [],
      String(at),
    )
  }
})

for (const [what, items, total] of [
  ['a total without items', [], 7],
  ['one item a page', listingTexts('a', 1), 300],
] as const)
  test(`${what} is bad_envelope, not the end`, async (t) => {
    const { read } = await pulled(t, { script: [{ kind: 'body', body: envelopeText(items, total) }] })
    t.is((await failureOf(t, read())).reason, 'bad_envelope')
  })

test('a page without a readable item is bad_envelope, also behind readable ones', async (t) => {
  const items = [...listingTexts('a', 200), ...listingTexts('b', 400, { created_at: null })]
  const { read } = await pulled(t, { items })
  t.is((await failureOf(t, read())).reason, 'bad_envelope')
})

test('unreadable items are counted once and hide nothing behind them', async (t) => {
  const items = listingTexts('a', 500).map((text, n) => (n >= 150 && n < 250 ? '{"status":"open"}' : text))
  const { read } = await pulled(t, { items })
  t.like(await read(), { total: 400, invalid: 100 })
})

for (const [what, offsetOf] of [
  ['ignores offset', () => 0],
  ['serves no offset beyond 150', (offset: number) => Math.min(offset, 150)],
] as const)
  test(`an upstream that ${what} is not whole, whatever its total`, async (t) => {
    for (const total of [361, 517, 570, 571, 580]) {
      const items = listingTexts('a', total)
      const { read, fake } = await pulled(t, { items }, (fake) => {
        fake.beforePage = () => {
          const { parameters } = fake.requests.at(-1)!
          const start = offsetOf(Number(parameters.get('offset')))
          const page = items.slice(start, start + Number(parameters.get('limit')))
          fake.script = [{ kind: 'body', body: envelopeText(page, total) }]
        }
      })
      const { reason } = await failureOf(t, read())
      t.true(reason === 'unstable' || reason === 'bad_envelope', `${total} ${reason}`)
      t.true(fake.requests.length <= 25, asked(fake.requests))
    }
  })

test('as many publishes as deletions at once are read again from the top, but a few are not', async (t) => {
  for (const [count, expected] of [
    [50, 8],
    [3, 3],
  ] as const) {
    const items = listingTexts('a', 400)
    const { read, fake } = await pulled(t, { items }, (fake) => {
      fake.beforePage = (request) => {
        if (request !== 2) return
        fake.items.splice(-count)
        fake.items.unshift(...listingTexts('new', count, { created_at: '2027-01-01T00:00:00' }))
      }
    })
    const ids = new Set(idsOf(await read()))
    const added = fake.items.filter((item) => ids.has(idOf(item))).length
    t.is(added, count === 50 ? 400 : 397)
    t.true(fake.requests.length <= expected, asked(fake.requests))
  }
})

test('an upstream that has one id twice is read once', async (t) => {
  const items = listingTexts('a', 450)
  items[5] = items[300]!.replace(/"created_at":"[^"]*"/, `"created_at":"${createdAt(items[5]!)}"`)
  const { read, fake } = await pulled(t, { items })
  t.is((await read()).total, 449)
  t.is(fake.requests.length, 3)
})

test('a listing that moves between two skipped ones is read', async (t) => {
  const items = listingTexts('a', 100)
  const [skipped = '', moved = '', next = ''] = items.slice(60)
  const failing = new Set([idOf(skipped), idOf(next)])
  const { read, fake } = await pulled(t, { items, failing }, (fake) => {
    fake.beforePage = () => {
      const { parameters } = fake.requests.at(-1)!
      const isAfterSkip = parameters.get('offset') === '61' && parameters.get('limit') === '1'
      if (isAfterSkip && fake.items.includes(skipped)) fake.items.splice(60, 1)
    }
  })
  const ids = idsOf(await read())
  t.false(fake.items.includes(skipped))
  t.true(ids.includes(idOf(moved)))
  t.is(ids.length, 98)
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
    const { read } = await pulled(t, { items, kind })
    t.is((await read()).listings.length, count)
  }
})

test('a status that the upstream ignores is applied here', async (t) => {
  const items = listingTexts('a', 600).map((text, n) =>
    n % 10 === 1 ? text.replace('"open"', '"closed"') : text,
  )
  const { read } = await pulled(t, { items, matches: () => true })
  t.is((await read()).total, 540)
})

function createdAt(item: string): string {
  return JSON.parse(item).created_at
}

/** `offset+limit` of each request. */
function asked(requests: readonly SeenRequest[]): string {
  return requests.map(({ parameters }) => `${parameters.get('offset')}+${parameters.get('limit')}`).join(' ')
}
