import type { ExecutionContext } from 'ava'
import test from 'ava'
import { type FakeRegistry, listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import type { RunningService } from '../../helpers/registry.ts'
import { idsIn, idsOf, readPage, streamAll, walkAll } from '../../helpers/sequence.ts'

const NEWEST = Date.UTC(2026, 10, 20)

/** `count` listings of one instant, `seconds` before the newest of `listingTexts`; their ids do not sort as they come. */
function tiedTexts(prefix: string, count: number, seconds: number): string[] {
  const created_at = new Date(NEWEST - seconds * 1000).toISOString().slice(0, 19)
  return Array.from({ length: count }, (_, n) =>
    listingText({ listing_id: `${prefix}-${(n * 37) % count}`, created_at, updated_at: created_at }),
  )
}

/** The same listings a day before. */
function earlier(items: readonly string[]): string[] {
  return items.map((text) => {
    const listing = JSON.parse(text)
    const at = Date.parse(`${listing.created_at}Z`) - 86_400_000
    return JSON.stringify({ ...listing, created_at: new Date(at).toISOString().slice(0, 19) })
  })
}

/** The same listings in the opposite order, a day before. */
function reversed(items: readonly string[]): string[] {
  const moved = items.map((text, n) => {
    const created_at = new Date(NEWEST - 86_400_000 + n * 1000).toISOString().slice(0, 19)
    return JSON.stringify({ ...JSON.parse(text), created_at })
  })
  return moved.toReversed()
}

function startOver(
  t: ExecutionContext,
  fakes: Readonly<Record<string, FakeRegistry>>,
  options?: Parameters<typeof startPatientGateway>[2],
): Promise<RunningService> {
  return startPatientGateway(
    t,
    Object.entries(fakes).map(([name, { url }]) => ({ name, url })),
    options,
  )
}

function heldBy(...fakes: readonly FakeRegistry[]): string[] {
  return [...new Set(fakes.flatMap(({ items }) => idsIn(items)))].sort()
}

/** Calls `act` before the request of that number is answered. */
function beforeRequest(fake: FakeRegistry, number: number, act: () => void): void {
  fake.script.length = 0
  for (let n = 1; n < number; n++) fake.script.push({ kind: 'serve' })
  const until = fake.requested(number).then(act)
  fake.script.push({ kind: 'hold', until }, { kind: 'serve' })
}

test('a walk loses no listing of an instant that spans several pages', async (t) => {
  const items = [...listingTexts('new', 90), ...tiedTexts('tied', 150, 90), ...tiedTexts('old', 60, 91)]
  const fake = await startFake(t, { items, pageSize: 60 })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  const ids = await walkAll(service, 'limit=50')
  t.deepEqual(ids.toSorted(), heldBy(fake))
})

test('a walk shows listings that are dated at its beginning once', async (t) => {
  const clock = manualClock()
  const created_at = new Date(clock.now()).toISOString().slice(0, 19)
  const items = [...listingTexts('now', 7, { created_at }), ...listingTexts('old', 7)]
  const fake = await startFake(t, { items })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }], { clock })
  const ids = await walkAll(service, 'limit=2')
  t.is(ids.length, 14)
  t.deepEqual(ids.toSorted(), heldBy(fake))
})

test('a walk shows a listing that was copied to another Registry after it began', async (t) => {
  const clock = manualClock()
  const items = listingTexts('a', 300)
  const a = await startFake(t, { items })
  const b = await startFake(t, { items: earlier(listingTexts('b', 20)) })
  const service = await startOver(t, { a, b }, { clock })
  const ids = await walkAll(service, 'limit=50', (pages) => {
    if (pages > 1) return
    clock.advance(100_000)
    const created_at = new Date(clock.now()).toISOString().slice(0, 19)
    b.items.unshift(JSON.stringify({ ...JSON.parse(items[200]!), created_at, updated_at: created_at }))
    return service.get('/listings', { 'cache-control': 'no-cache' })
  })
  t.true(ids.includes('a-0200'))
})

test('a walk shows a listing that was opened again in another Registry after it began', async (t) => {
  const clock = manualClock()
  const items = listingTexts('a', 300)
  const a = await startFake(t, { items })
  const copy = { ...JSON.parse(items[200]!), created_at: '2026-11-20T00:00:01', status: 'closed' }
  const b = await startFake(t, { items: [JSON.stringify(copy), ...earlier(listingTexts('b', 20))] })
  const service = await startOver(t, { a, b }, { clock })
  const ids = await walkAll(service, 'limit=50', (pages) => {
    if (pages > 1) return
    clock.advance(100_000)
    const updated_at = new Date(clock.now()).toISOString().slice(0, 19)
    b.items[0] = JSON.stringify({ ...copy, status: 'open', updated_at })
    return service.get('/listings', { 'cache-control': 'no-cache' })
  })
  t.true(ids.includes('a-0200'))
})

for (const [what, ofA, ofB] of [
  [
    'two of its Registries share an instant',
    [...listingTexts('new', 150), ...tiedTexts('z', 100, 151)],
    [...tiedTexts('a', 100, 151), ...tiedTexts('older', 150, 152)],
  ],
  ['copies of its listings are far apart', listingTexts('a', 450), reversed(listingTexts('a', 450))],
] as const)
  test(`a stream over a gateway has each listing once where ${what}`, async (t) => {
    const a = await startFake(t, { items: ofA })
    const b = await startFake(t, { items: ofB })
    const inner = await startOver(t, { a, b }, { more: 'id = "inner"' })
    const outer = await startPatientGateway(t, [
      { name: 'inner', url: inner.url, settings: 'kind = "gateway"' },
    ])
    const ids = await streamAll(outer)
    t.is(ids.length, new Set(ids).size)
    t.deepEqual(ids.toSorted(), heldBy(a, b))
  })

test('a walk repeats nothing, however far apart the copies are', async (t) => {
  const clock = manualClock()
  clock.advance(86_400_000)
  const a = await startFake(t, { items: listingTexts('a', 300) })
  const b = await startFake(t, { items: earlier(listingTexts('a', 300)) })
  const service = await startOver(t, { a, b }, { clock })
  t.deepEqual(await walkAll(service, 'limit=50'), heldBy(a))
})

test('a walk goes on beyond the end of a large gateway', async (t) => {
  const large = await startFake(t, { items: listingTexts('a', 2200) })
  const other = await startFake(t, { items: earlier(listingTexts('b', 300)) })
  const inner = await startPatientGateway(t, [{ name: 'a', url: large.url }], { more: 'id = "inner"' })
  const outer = await startPatientGateway(t, [
    { name: 'inner', url: inner.url, settings: 'kind = "gateway"' },
    { name: 'b', url: other.url },
  ])
  const ids = await walkAll(outer, 'limit=200')
  t.deepEqual(ids.toSorted(), heldBy(large, other))
})

test('a page holds its items in whatever memory it is written', async (t) => {
  const items = listingTexts('a', 120)
  const fake = await startFake(t, { items })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  for (let limit = 1; limit <= 120; limit++) {
    // Memory that was in use before and is full of braces.
    Buffer.alloc(700 * limit, '}')
    t.is(idsOf(await readPage(service, `limit=${limit}`)).length, limit)
  }
})

for (const read of [walkAll, streamAll])
  test(`a Registry is read whole by ${read.name} after deletions while it was pulled`, async (t) => {
    const fake = await startFake(t, { items: listingTexts('a', 600), pageSize: 60 })
    // More than two pages overlap.
    beforeRequest(fake, 4, () => fake.items.splice(0, 22))
    const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
    const ids = new Set(await read(service, 'limit=50'))
    t.deepEqual(
      idsIn(fake.items).filter((id) => !ids.has(id)),
      [],
    )
  })

test('a stream is complete after a publish and a refresh of the first page', async (t) => {
  const clock = manualClock()
  const fake = await startFake(t, { items: listingTexts('a', 600) })
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }], { clock })
  clock.advance(2000)
  fake.items.unshift(listingText({ listing_id: 'new', created_at: '2026-11-20T00:00:01' }))
  await service.get('/listings', { 'cache-control': 'no-cache' })
  t.deepEqual((await streamAll(service)).toSorted(), heldBy(fake))
})
