import test from 'ava'
import { listingText } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { mintKey } from '../../helpers/seller.ts'

const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
const MANY = 20

const priced = (n: number): string =>
  listingText({
    listing_id: `l-${n}`,
    offer_resource: { gpu_model: 'H200', gpu_count: 1 },
    accepted_escrows: [
      {
        chain_name: 'base',
        literal_fields: { token: USDC },
        rates: [{ field: 'amount', per: 'hour', value: String(1_000_000 + n) }],
      },
    ],
  })

test('turns: a question of one reader waits for at most half of twenty of another', async (t) => {
  const fake = await startFake(t, { items: Array.from({ length: 3000 }, (_, n) => priced(n)) })
  const gateway = await startPatientGateway(t, [{ name: 'far', url: fake.url }], {
    environment: { REGISTRY_ADMIN_API_KEY: 'admin' },
  })
  const [many, one] = await Promise.all([
    mintKey(gateway.url, { scope: 'read' }),
    mintKey(gateway.url, { scope: 'read' }),
  ])
  // So that each question has an open connection.
  await Promise.all(Array.from({ length: MANY + 1 }, () => gateway.get('/ready')))
  const answered: string[] = []
  const ask = async (reader: string, { bearer }: typeof one, max: number): Promise<void> => {
    const query = `sort=price&price_token=USDC&price_max=${max}&limit=1`
    const { items } = (await gateway.get(`/listings?${query}`, bearer)).json() as { items: unknown[] }
    answered.push(reader)
    if (items.length !== 1) throw new Error(`${reader}: ${items.length} listings`)
  }
  await Promise.all([
    ...Array.from({ length: MANY }, (_, n) => ask('many', many, 2 + n)),
    ask('one', one, 2 + MANY),
  ])
  t.true(answered.indexOf('one') <= MANY / 2)
})
