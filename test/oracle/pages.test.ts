import test from 'ava'
import { listingTexts } from '../helpers/fake-registry.ts'
import { startFake, startGateway } from '../helpers/gateway.ts'
import { idsOf, readPage } from './read-all.ts'

test('a page holds its items in whatever memory it is written', async (t) => {
  const items = listingTexts('a', 120)
  const fake = await startFake(t, { items })
  const service = await startGateway(t, [{ name: 'a', url: fake.url }])
  for (let limit = 1; limit <= 120; limit++) {
    // Memory that was in use before and is full of braces.
    Buffer.alloc(700 * limit, '}')
    t.is(idsOf(await readPage(service, `limit=${limit}`)).length, limit)
  }
})
