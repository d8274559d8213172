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
  t.regex(stderr, /warning: 1 listing: filters by model miss it: 'Hopper big' is not a known model\n/)
  t.regex(stderr, /warning: 1 listing: filters by country miss it: 'MON1' names no known country\n/)
  const { stderr: quiet } = await runCli(['validate', file, '-r', url, '--quiet'])
  t.notRegex(quiet, /is read as/)
})
