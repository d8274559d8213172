import test from 'ava'
import { listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'

test('a source that is away is asked once a question, not again for its page', async (t) => {
  const good = await startFake(t, { items: listingTexts('good', 3) })
  const away = await startFake(t, { script: [{ kind: 'reset_before_headers' }] })
  const { get } = await startPatientGateway(t, [
    { name: 'good', url: good.url },
    { name: 'away', url: away.url },
  ])
  const { items, sources } = (await get('/listings')).json() as {
    items: unknown[]
    sources: { registry: string; reason?: string }[]
  }
  t.is(items.length, 3)
  t.is(sources.find(({ registry }) => registry === 'away')?.reason, 'connection_reset')
  // Its one repetition included.
  t.is(away.requests.filter(({ path }) => path === '/listings').length, 2)
})

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
