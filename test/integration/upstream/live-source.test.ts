import test, { type ExecutionContext } from 'ava'
import { FULL_RANGE } from '../../../src/domain/source/reading.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'
import { countTurns } from '../../helpers/turns.ts'
import { filtered, listingQuery, openUpstream } from '../../helpers/upstream.ts'

const LISTINGS = 2000
const REGION = filterOf('region')

/** A live source whose run is cached, and which does not filter by region. */
async function start(t: ExecutionContext) {
  const items = listingTexts('a', LISTINGS, { text: 'x'.repeat(8000) })
  const upstream = await openUpstream(t, { items, filterSpec: specBody('one', [filterOf('gpu_model')]) })
  await upstream.ready
  await upstream.read({}, FULL_RANGE)
  const asked = filtered([REGION], ['region', 'nowhere'])
  return { ...upstream, asked }
}

test.serial(
  'live source: what an upstream does not filter is filtered in turns of the event loop',
  async (t) => {
    const { read, asked } = await start(t)
    await read(asked)
    const turn = countTurns(t)
    const { total } = await read(asked)
    t.is(total, 0)
    t.true(turn.now > 2, `${turn.now} turns`)
  },
)

test('live source: filtering ends when the query does', async (t) => {
  const { source, asked, fake } = await start(t)
  const leaving = new AbortController()
  const left = new Error('left')
  const before = fake.requests.length
  const range = { after: null, offsetHint: 0, count: 50 }
  const reading = source.read(listingQuery(asked), range, leaving.signal)
  // In the first turn of the filtering: the run is cached, so nothing else takes a turn.
  setImmediate(() => leaving.abort(left))
  t.is(await t.throwsAsync(reading), left)
  t.is(fake.requests.length, before)
})
