import test, { type ExecutionContext } from 'ava'
import { SourceError } from '../../src/domain/source-error.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'
import { createAgent } from '../../src/upstream/agent.ts'
import { fetchFilterSpec, MAX_SPEC_BYTES } from '../../src/upstream/filter-spec.ts'
import { getFrom } from '../../src/upstream/get.ts'
import { SPEC_FRESH_MS, SPEC_RETRY_MS, SpecKeeper } from '../../src/upstream/spec-keeper.ts'
import { deadUrl, type FakeRegistry, startFakeRegistry } from '../helpers/fake-registry.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'
import { filterOf, specBody } from '../helpers/specs.ts'
import { upstreamOptions } from './upstream-options.ts'

const getOf = (t: ExecutionContext, fake: FakeRegistry, options: Partial<UpstreamOptions> = {}) => {
  const upstream = upstreamOptions({ url: fake.url, ...options })
  const agent = createAgent(upstream)
  t.teardown(() => agent.destroy())
  return getFrom(upstream, agent)
}

const start = async (
  t: ExecutionContext,
  filterSpec: object | null,
  options: Partial<UpstreamOptions> = {},
): Promise<{ fake: FakeRegistry; clock: ManualClock; keeper: SpecKeeper }> => {
  const fake = await startFakeRegistry({ filterSpec, prefix: '/registry' })
  t.teardown(fake.close)
  const clock = manualClock()
  return { fake, clock, keeper: new SpecKeeper(fetchFilterSpec(getOf(t, fake, options)), clock) }
}

const settled = async (keeper: SpecKeeper): Promise<void> => {
  await keeper.recheck(keeper.current())
}

test('a spec is fetched once, with the key, however many wait for it', async (t) => {
  const { fake, keeper } = await start(t, specBody('one', [filterOf('a')]), { key: 'secret' })
  t.is(keeper.current(), null)
  const [spec, same] = await Promise.all([keeper.known(), keeper.known()])
  t.is(spec?.etag, 'one')
  t.is(same, spec)
  t.is(fake.specRequests.length, 1)
  t.like(fake.specRequests[0], { path: '/registry/filter-spec', headers: { authorization: 'Bearer secret' } })
})

test('an old spec is given at once, and asked for again by its etag in the background', async (t) => {
  const { fake, clock, keeper } = await start(t, specBody('one', []))
  const spec = await keeper.known()
  clock.advance(SPEC_FRESH_MS - 1)
  t.is(keeper.current(), spec)
  t.is(fake.specRequests.length, 1)
  clock.advance(1)
  t.is(keeper.current(), spec)
  await settled(keeper)
  t.is(fake.specRequests.length, 2)
  t.is(fake.specRequests[1]?.headers['if-none-match'], '"one"')
  t.is(keeper.current(), spec, 'it is the very same while it has not changed')

  fake.filterSpec = specBody('two', [filterOf('b')])
  clock.advance(SPEC_FRESH_MS)
  t.is(keeper.current(), spec)
  await settled(keeper)
  t.is(keeper.current()?.etag, 'two')
})

test('what was known stays known while the Registry cannot be reached, and it is not asked all the time', async (t) => {
  const { fake, clock, keeper } = await start(t, specBody('one', []))
  const spec = await keeper.known()
  fake.filterSpec = { broken: true }
  clock.advance(SPEC_FRESH_MS)
  keeper.current()
  await settled(keeper)
  t.is(keeper.current(), spec)
  const asked = fake.specRequests.length
  clock.advance(SPEC_RETRY_MS - 1)
  keeper.current()
  t.is(fake.specRequests.length, asked)
  clock.advance(1)
  keeper.current()
  await settled(keeper)
  t.true(fake.specRequests.length > asked)
})

test('a Registry that has no filter spec, or is not there, is known to have none that is known', async (t) => {
  const { keeper, fake } = await start(t, null)
  t.is(await keeper.known(), null)
  await fake.close()
  t.is(await keeper.recheck(null), null)
})

test('a doubt that someone else has cleared up already asks nothing', async (t) => {
  const { fake, keeper } = await start(t, specBody('one', []))
  const old = await keeper.known()
  fake.filterSpec = specBody('two', [])
  const [first, second] = await Promise.all([keeper.recheck(old), keeper.recheck(old)])
  t.is(first?.etag, 'two')
  t.is(second, first)
  t.is(await keeper.recheck(old), first)
  t.is(fake.specRequests.length, 2)
})

test('a bad answer has its reason', async (t) => {
  const fake = await startFakeRegistry()
  t.teardown(fake.close)
  const fetch = fetchFilterSpec(getOf(t, fake))
  for (const [filterSpec, reason] of [
    [{ filters: 'none' }, 'not_json'],
    [{ filters: [], filler: 'x'.repeat(MAX_SPEC_BYTES) }, 'too_large'],
  ] as const) {
    fake.filterSpec = filterSpec
    t.is((await t.throwsAsync(fetch(null), { instanceOf: SourceError }))?.reason, reason)
  }
  const gone = fetchFilterSpec(getOf(t, { ...fake, url: await deadUrl() }))
  t.is((await t.throwsAsync(gone(null), { instanceOf: SourceError }))?.reason, 'connection_refused')
})
