import test from 'ava'
import { startRegistry } from '../../helpers/registry.ts'
import { runCli, temporaryFile } from '../../helpers/run-cli.ts'

const LISTINGS = `
- listing_id: one
  offer_resource: { gpu_model: h100-sxm5-80gb, gpu_count: 8, region: FIN-02 }
  accepted_escrows: []
- listing_id: two
  offer_resource: { gpu_model: Hopper big, region: MON1 }
  accepted_escrows: []
`

test('validate: a seller sees how buyers read model and place', async (t) => {
  const { url } = await startRegistry(t)
  const file = temporaryFile(t, 'listings.yaml', LISTINGS)
  const { stderr } = await runCli(['validate', file, '-r', url])
  t.regex(stderr, /\[listings\] 1 listing is read as H100 SXM, 80 GB, in Finland \(FI\)\n/)
  t.regex(stderr, /warning: two: filters by model miss it: 'Hopper big' is not a known model\n/)
  t.regex(stderr, /warning: two: filters by country miss it: 'MON1' names no known country\n/)
  const { stderr: quiet } = await runCli(['validate', file, '-r', url, '--quiet'])
  t.notRegex(quiet, /is read as/)
})

const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'

test('validate: a seller sees each price as buyers read it, and which no buyer finds', async (t) => {
  const { url } = await startRegistry(t)
  const price = (listing_id: string, rate: object, chain_name = 'base', token = USDC) => ({
    listing_id,
    offer_resource: { gpu_model: 'H100', gpu_count: 8, region: 'Frankfurt, DE', sla: 99 },
    accepted_escrows: [{ chain_name, escrow_address: '0xaa', literal_fields: { token }, rates: [rate] }],
  })
  const listings = [
    price('good', { field: 'amount', per: 'hour', value: '16800000' }),
    price('sign', { field: 'amount', per: 'hour', value: '-5' }),
    price('unit', { field: 'amount', per: 'huor', value: '5' }),
    price('chain', { field: 'amount', per: 'day', value: '5' }, 'bsae'),
    price('token', { field: 'amount', per: 'hour', value: '5' }, 'base', '0x12'),
    price('token2', { field: 'amount', per: 'hour', value: '5' }, 'base', '0x12'),
    price('play', { field: 'amount', per: 'hour', value: '8000000' }, 'base_sepolia', TEST_USDC),
    { ...price('ask', {}), accepted_escrows: [] },
  ]
  const file = temporaryFile(t, 'listings.json', JSON.stringify(listings))
  const { stdout, stderr } = await runCli(['validate', file, '-r', url])
  const verdicts: { listing_id: string; price: string }[] = JSON.parse(stdout)
  t.deepEqual(
    verdicts.slice(0, 3).map(({ price }) => price),
    ['2.10 USDC/GPU·h', 'no price', '0.000001 USDC/GPU·huor'],
  )
  t.deepEqual(
    verdicts.slice(-2).map(({ price }) => price),
    ['1.00 test USDC/GPU·h', 'no price'],
  )
  const NOT = 'no buyer finds it by its price'
  for (const warning of [
    `sign: ${NOT}: the value "-5" is not a whole number of base units`,
    `unit: ${NOT}: 'huor' is not a known unit; did you mean hour?`,
    `chain: ${NOT}: 'bsae' is not a known chain; did you mean base?`,
    `2 listings, such as token: ${NOT}: 0x12 on base is not a known token`,
    `play: ${NOT}: USDC on base_sepolia is of a test network, and worth nothing`,
  ])
    t.true(stderr.includes(`entrepot: warning: ${warning}\n`), `${warning}\n${stderr}`)
  t.notRegex(stderr, /warning: (good|ask): no buyer/)
  t.regex(stderr, /^0 valid, 8 not valid, 0 not checked$/m)
})

const TEST_USDC = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
