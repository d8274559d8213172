import test from 'ava'
import { openRegistryClient } from '../../src/context/buyer.ts'
import { startServer } from '../helpers/fixed-answers.ts'

test('client: a public Registry may not refer to a private address; a local one may', async (t) => {
  const url = await startServer(t, { '/status': '{}' })
  const client = openRegistryClient()
  t.teardown(client.close)
  const request = { method: 'GET', url: `${url}/status`, key: null, timeoutMs: 5000 } as const
  const referredBy = { url: 'https://registry.example', key: null }
  await t.throwsAsync(client.send({ ...request, referredBy }), { message: /private address/ })
  t.is((await client.send({ ...request, referredBy: { url, key: null } })).status, 200)
  t.is((await client.send(request)).status, 200)
})
