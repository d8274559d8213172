import type { ExecutionContext } from 'ava'
import test from 'ava'
import { agentAt } from '../../helpers/agent.ts'
import { deadUrl, type FakeRegistry, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway, type UpstreamEntry } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import type { RunningService } from '../../helpers/registry.ts'
import { runCli } from '../../helpers/run-cli.ts'

type Named = { registry: string; state: string; reason?: string }
type Answer = {
  complete: boolean
  sources: Named[]
  sources_counted?: { loaded: number; age_seconds: number }
  items: { _meta: { registry: string } }[]
}

const named = ({ sources }: Pick<Answer, 'sources'>) =>
  sources.map(({ registry, state }) => [registry, state])

/** One Registry under many names, the best of which have its listings. */
const upstreamsOf = ({ url }: FakeRegistry, count: number): UpstreamEntry[] =>
  Array.from({ length: count }, (_, n) => ({ name: `r${n}`, url }))

async function startMany(t: ExecutionContext): Promise<RunningService> {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  return startPatientGateway(t, [...upstreamsOf(fake, 120), { name: 'dead', url: deadUrl() }])
}

test('many sources: an answer names those with items or trouble, and counts the others, at every door', async (t) => {
  const gateway = await startMany(t)
  const { url, get } = gateway
  const few = [
    ['local', 'loaded'],
    ['r0', 'loaded'],
    ['dead', 'unavailable'],
  ]
  const response = await get('/listings')
  const page = response.json() as Answer
  t.deepEqual(named(page), few)
  t.like(page, { complete: false, sources_counted: { loaded: 119 } })
  t.true(page.sources_counted!.age_seconds >= 0)
  t.is(response.headers.get('cache-control'), 'no-store')
  const again = await get('/listings')
  t.is(again.headers.get('etag'), response.headers.get('etag'))

  const lines = (await get('/listings', { Accept: 'application/x-ndjson' })).text.trim().split('\n')
  const last = (JSON.parse(lines.at(-1)!) as { _meta: Answer })._meta
  t.deepEqual(named(last), few)
  t.like(last, { complete: false, sources_counted: { loaded: 119 } })

  const facets = (await get('/facets?by=registry')).json() as Answer & { summary: string }
  t.deepEqual(named(facets), [few[0], few[2]])
  t.like(facets, { sources_counted: { loaded: 120 } })
  t.regex(facets.summary, /120 of 121 answered.*dead is unavailable/)

  const changes = (await get('/changes')).json() as Answer
  t.deepEqual(named(changes), [few[2]])
  t.like(changes, { complete: false, sources_counted: { loaded: 121 } })

  const whole = (await get('/listings?require=all')).json() as Answer
  t.deepEqual(named(whole), few)
  t.like(whole, { status: 502, sources_counted: { loaded: 119 } })

  const { client } = await agentAt(t, url)
  const words = JSON.stringify((await client.callTool({ name: 'search_listings', arguments: {} })).content)
  t.regex(words, /INCOMPLETE: dead is unavailable/)
  t.notRegex(words, /r1\b/)
  const listed = JSON.stringify((await client.callTool({ name: 'list_sources', arguments: {} })).content)
  t.regex(listed, /122 sources\. 22 of them are not listed; all are loaded\./)
})

test('many sources: where all have answered, words count those that are not named', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const { url } = await startPatientGateway(t, upstreamsOf(fake, 101))
  const { client } = await agentAt(t, url)
  const words = JSON.stringify((await client.callTool({ name: 'search_listings', arguments: {} })).content)
  t.regex(words, /Complete: 101 of 101 answered, oldest reading/)
})

test('many sources: below a hundred each is named, and a reader of few sees each', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const { get } = await startPatientGateway(t, upstreamsOf(fake, 100))
  const some = (await get('/listings?sources=r3,r4')).json() as Answer
  t.deepEqual(named(some), [
    ['r3', 'loaded'],
    ['r4', 'loaded'],
  ])
  t.false('sources_counted' in some)
  const names = Array.from({ length: 99 }, (_, n) => `r${n}`)
  const almost = (await get(`/listings?sources=${names}`)).json() as Answer
  t.is(almost.sources.length, 99)
  t.false('sources_counted' in almost)
})

test('many sources: GET /sources pages through all, a hundred by default', async (t) => {
  const { url, get } = await startMany(t)
  type Page = { sources: Named[]; total: number }
  const read = async (query: string) => (await get(`/sources${query}`)).json() as Page
  const first = await read('')
  t.is(first.sources.length, 100)
  t.is(first.total, 122)
  const rest = await read('?offset=100')
  t.is(rest.sources.length, 22)
  t.is(rest.sources.at(-1)!.registry, 'dead')
  t.deepEqual(named(await read('?limit=2&offset=1')), [
    ['r0', 'loaded'],
    ['r1', 'loaded'],
  ])
  const { stdout } = await runCli(['sources', '-r', url, '--json'])
  t.is((JSON.parse(stdout) as Page[])[0]!.sources.length, 122)
  t.deepEqual(await read('?offset=500'), { sources: [], total: 122 })
  for (const wrong of ['limit=0', 'limit=1001', 'offset=-1', 'limit=x'])
    t.is((await get(`/sources?${wrong}`)).status, 422, wrong)
})

test('many sources: a gateway behind a gateway knows the age of what is not named', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const clock = manualClock()
  const inner = await startPatientGateway(t, upstreamsOf(fake, 101), { clock, more: 'id = "inner"' })
  clock.advance(5000)
  const outer = await startPatientGateway(t, [{ name: 'eu', url: inner.url, settings: 'kind = "gateway"' }], {
    clock,
  })
  const { sources, complete } = (await outer.get('/listings')).json() as Answer
  t.true(complete)
  t.like(sources[1], { registry: 'eu', state: 'loaded', age_seconds: 5 })
})
