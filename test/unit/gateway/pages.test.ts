import test, { type ExecutionContext } from 'ava'
import type { SourceReason } from '../../../src/domain/source/reasons.ts'
import { EntrepotError } from '../../../src/errors.ts'
import type { MergedPage } from '../../../src/gateway/pages/page.ts'
import { type FakeSource, fakeItem, fakeSource } from '../../helpers/fake-source.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { gatewayOver, idsOfPage } from '../../helpers/pages.ts'

/** A source with this many listings, `a0` the newest. */
function listings(name: string, count: number, options: Partial<FakeSource> = {}): FakeSource {
  const items = Array.from({ length: count }, (_, n) => fakeItem(`${name}${n}`, 1_000_000 - n))
  return fakeSource(name, items, options)
}

const failing = (name: string, failure: SourceReason, options: Partial<FakeSource> = {}) =>
  fakeSource(name, [], { failure, ...options })
const LOCAL = { isOwn: true, priority: 0 }
const local = (count = 0) => listings('local', count, LOCAL)

async function refusalOf(t: ExecutionContext, answer: Promise<unknown>): Promise<EntrepotError> {
  return (await t.throwsAsync(answer, { instanceOf: EntrepotError })) ?? t.fail()
}

test('no usable source is 504 where all were late, else 503, and never an empty page', async (t) => {
  const late = failing('late', 'timeout')
  const [gone, skipped] = [failing('gone', 'dns'), failing('skipped', 'unsupported_filter')]
  for (const [sources, status] of [
    [[late], 504],
    [[late, gone], 503],
    [[gone, skipped], 503],
    [[skipped], 503],
    [[], 503],
    // Nothing matched, and no upstream could answer.
    [[local(), gone], 503],
    [[local(), late], 504],
    [[local(), failing('timeout', 'timeout'), gone], 503],
  ] as const) {
    const error = await refusalOf(t, gatewayOver(sources).page())
    t.is(error.status, status)
    t.is((error.members.sources as unknown[]).length, sources.length)
  }
})

test('an answer needs a match, an upstream that answered, or no visible upstream', async (t) => {
  const gone = failing('gone', 'dns')
  const full = await gatewayOver([local(3), gone]).page()
  t.deepEqual([full.total, full.complete], [3, false])
  t.deepEqual((await gatewayOver([local(3), gone]).page({ offset: 100 })).items, [])
  t.is((await gatewayOver([local(), gone, listings('empty', 0)]).page()).total, 0)
  t.true((await gatewayOver([local(), { ...gone, visibility: 'private' }]).page()).complete)
  t.true((await gatewayOver([local(), gone]).page({}, { named: ['local'] })).complete)
})

test('a page by offset beyond 2,000 is refused, and names the cursor', async (t) => {
  const gateway = gatewayOver([local(), listings('up', 0)])
  const error = await refusalOf(t, gateway.page({ offset: 1951, limit: 50 }))
  t.is(error.status, 400)
  t.regex(error.message, /cursor/)
  await t.notThrowsAsync(gateway.page({ offset: 1950, limit: 50 }))
})

test('the own Registry alone is read by price at any depth, and has nothing beyond its end', async (t) => {
  const gateway = gatewayOver([local(5000)])
  const byPrice = { tokens: null, per: 'gpu' } as const
  const all = idsOfPage(await gateway.page({ limit: 5000 }, { byPrice }))
  for (const offset of [1999, 4321, 4998, 9000]) {
    const page = await gateway.page({ offset, limit: 7 }, { byPrice })
    t.deepEqual(idsOfPage(page), all.slice(offset, offset + 7))
    t.is(page.total, 5000)
  }
})

test('a date of the future is last on every page of a cursor, however late it is by then', async (t) => {
  const clock = manualClock()
  const now = clock.now() * 1000
  const items = [fakeItem('soon', now + 130_000_000), ...[0, 1, 2].map((n) => fakeItem(`past${n}`, now - n))]
  const gateway = gatewayOver([fakeSource('up', items)], { clock })
  const ids: string[] = []
  let cursor: string | null = null
  do {
    const page: MergedPage = await gateway.page({ limit: 1 }, { cursor })
    ids.push(...idsOfPage(page))
    cursor = page.nextCursor ?? null
    clock.advance(20_000)
  } while (cursor !== null)
  t.deepEqual(ids, ['past0', 'past1', 'past2', 'soon'])
})
