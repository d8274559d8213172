import test from 'ava'
import { startRegistry } from '../../helpers/registry.ts'

test('tokens: those of the gateway file are served, behind the read gate', async (t) => {
  const address = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
  const toml = `[[tokens]]\nchain = "anvil"\naddress = "${address}"\nsymbol = "TEST"\ndecimals = 18\n`
  const own = await startRegistry(t, { toml })
  t.deepEqual((await own.get('/tokens')).json(), {
    tokens: [{ chain: 'anvil', address: address.toLowerCase(), symbol: 'TEST', decimals: 18 }],
  })
  const gated = await startRegistry(t, { environment: { REGISTRY_REQUIRE_READ_API_KEY: 'on' } })
  t.is((await gated.get('/tokens')).status, 401)
})
