import test from 'ava'
import { send } from '../../helpers/registry.ts'
import { temporaryStore } from '../../helpers/run-cli.ts'
import { ALICE, publish } from '../../helpers/seller.ts'
import { startProcess } from '../../helpers/service-process.ts'

test('process: what was published is read, and again after an end by SIGTERM and another start', async (t) => {
  const store = temporaryStore(t)
  for (const isPublished of [false, true]) {
    const service = await startProcess(store)
    if (!isPublished) t.is((await publish(service.url, ALICE, { listing_id: 'one' })).status, 201)
    const { items } = (await send(`${service.url}/listings`)).json() as { items: { listing_id: string }[] }
    t.deepEqual(
      items.map(({ listing_id }) => listing_id),
      ['one'],
    )
    t.is(await service.end('SIGTERM'), 0)
  }
})
