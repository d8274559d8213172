import test from 'ava'
import { agentAt } from '../../helpers/agent.ts'
import { eventually } from '../../helpers/eventually.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { send } from '../../helpers/registry.ts'
import { runCli } from '../../helpers/run-cli.ts'

const NONE = 'gpu_model=H200'
const HIDES = `
[access]
anonymous = "eu"
[[views]]
name = "eu"
sources = ["large"]
filter = { continent = "EU" }
[[curation.rules]]
only = { gpu_model = ["H100", "H200"] }
`

test('held in part: every door says how many are held of how many, whatever hides the rows', async (t) => {
  const offer = { offer_resource: { gpu_model: 'H100', gpu_count: 1, region: 'Oslo, NO' } }
  const large = await startFake(t, { items: listingTexts('large', 300, offer) })
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const upstream = { name: 'large', url: large.url, settings: 'max_listings = 100' }
  const inner = await startPatientGateway(t, [upstream], { environment, more: `id = "inner"\n${HIDES}` })
  const outer = await startPatientGateway(t, [{ name: 'in', url: inner.url, settings: 'kind = "gateway"' }])
  const headers = { Authorization: 'Bearer admin', 'Content-Type': 'application/json' }
  const body = JSON.stringify({ subject: 'http://storefront.example', reason: 'It never delivers.' })
  t.is((await send(`${inner.url}/admin/blocks`, { method: 'POST', headers, body })).status, 201)
  await eventually('blocked', async () => (await inner.get('/listings')).json().total_after_filter === 0)

  const counts = { held: 100, of: 300 }
  const sourceIn = (answer: Record<string, unknown>): unknown => (answer.sources as unknown[]).at(-1)
  for (const path of [
    `/listings?${NONE}`,
    `/listings?sort=price&${NONE}`,
    `/facets?${NONE}`,
    '/sources',
    '/changes',
  ])
    t.like(sourceIn((await inner.get(path)).json()), { registry: 'large', state: 'partial', ...counts }, path)
  const stream = (await inner.get(`/listings?${NONE}`, { Accept: 'application/x-ndjson' })).json()
  t.like(sourceIn(stream._meta as Record<string, unknown>), counts)
  t.like(sourceIn((await outer.get(`/listings?${NONE}`)).json()), { registry: 'in/large', ...counts })
  const { sources } = (await outer.get('/sources')).json() as { sources: { gaps?: object[] }[] }
  t.like(sources.at(-1)?.gaps?.[0], { registry: 'in/large', ...counts })

  for (const command of ['listings', 'facets'])
    t.regex(
      (await runCli([command, '-r', inner.url, '-f', NONE])).stderr,
      /\/large is held in part: 100 of 300\n/,
    )
  const { call } = await agentAt(t, inner.url)
  const filters = { gpu_model: 'H200' }
  for (const [tool, given] of [
    ['search_listings', { filters }],
    ['market_overview', { filters }],
    ['list_sources', {}],
  ] as const)
    t.regex((await call(tool, given)).notice, /^INCOMPLETE: large is held in part: 100 of 300\./, tool)
})
