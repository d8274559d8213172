import test from 'ava'
import { listingText } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'

test('no-cache: a listing that the best source has lost is shown from the next one', async (t) => {
  const listing = listingText({ listing_id: 'x' })
  const best = await startFake(t, { items: [listing] })
  const next = await startFake(t, { items: [listing] })
  const held = (fake: { url: string }, name: string) => ({
    name,
    url: fake.url,
  })
  const clock = manualClock()
  const service = await startPatientGateway(t, [held(best, 'best'), held(next, 'next')], { clock })
  const shown = async (headers: Record<string, string>) => {
    const { items } = (await service.get('/listings', headers)).json() as {
      items: { _meta: { registry: string } }[]
    }
    return items.map(({ _meta }) => _meta.registry)
  }
  t.deepEqual(await shown({}), ['best'])
  best.items = []
  best.script = [{ kind: 'delay', ms: 300 }]
  clock.advance(2000)
  t.deepEqual(await shown({ 'Cache-Control': 'no-cache' }), ['next'])
})
