import test from 'ava'
import { SPEC_FRESH_MS } from '../../src/upstream/spec-keeper.ts'
import { listingTexts } from '../helpers/fake-registry.ts'
import { startFake, startGateway } from '../helpers/gateway.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { filterOf, specBody } from '../helpers/specs.ts'

const PATH = '/listings?gpu_model='

test('an upstream that is left alone is not asked for its filters or publishers either', async (t) => {
  const clock = manualClock()
  const fake = await startFake(t, {
    items: listingTexts('a', 3),
    filterSpec: specBody('one', [filterOf('gpu_model')]),
    publishers: [[1, `0x${'a'.repeat(40)}`]],
  })
  const { get } = await startGateway(t, [{ name: 'curated', url: fake.url }], { clock, random: () => 0.5 })
  t.is((await get(`${PATH}H100`)).status, 200)
  t.deepEqual([fake.specRequests.length, fake.publisherRequests.length], [1, 1])

  fake.script = [{ kind: 'status', status: 429, headers: { 'retry-after': '3600' } }]
  await get(`${PATH}A100`)
  clock.advance(10 * SPEC_FRESH_MS)
  const asked = fake.requests.length
  await get(`${PATH}H200`)
  await get(`${PATH}B200`)
  t.is(fake.requests.length, asked)
  t.deepEqual([fake.specRequests.length, fake.publisherRequests.length], [1, 1])

  fake.script = [{ kind: 'serve' }]
  clock.advance(3_600_000)
  await get(`${PATH}L40S`)
  t.is(fake.specRequests.length, 2)
})
