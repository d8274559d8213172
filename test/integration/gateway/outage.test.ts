import test from 'ava'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'

const LIVE = 'mode = "live"\n'

test('a source that is away is asked once a question, not again for its page', async (t) => {
  const good = await startFake(t, { items: listingTexts('good', 3) })
  const away = await startFake(t, { script: [{ kind: 'reset_before_headers' }] })
  const { get } = await startPatientGateway(t, [
    { name: 'good', url: good.url, settings: LIVE },
    { name: 'away', url: away.url, settings: LIVE },
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
