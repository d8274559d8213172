import test from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { listingText } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { mintKey } from '../../helpers/seller.ts'

const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
const view = (more: string): string => `[[views]]\nname = "partners"\n${more}\n`

test('views: the limit of one replaces read_key_per_minute, for each of its keys alone', async (t) => {
  const toml = `[limits]\nread_key_per_minute = 1000\n${view('requests_per_minute = 2')}`
  const { url, get } = await startRegistry(t, { environment, toml })
  const [one, two] = [await mintKey(url, { view: 'partners' }), await mintKey(url, { view: 'partners' })]
  const other = await mintKey(url)
  const statuses = async (headers: Record<string, string>) => {
    const all: number[] = []
    for (let n = 0; n < 4; n++) all.push((await get('/tokens', headers)).status)
    return all
  }
  const limited = await statuses(one.bearer)
  t.deepEqual([limited[0], limited.at(-1)], [200, 429])
  t.is((await get('/tokens', two.bearer)).status, 200)
  t.deepEqual(await statuses(other.bearer), [200, 200, 200, 200])
})

test('views: max_watchers_per_reader of one replaces that of [changes]', async (t) => {
  const toml = `[changes]\nmax_watchers_per_reader = 5\n${view('max_watchers_per_reader = 1')}`
  const { url, get } = await startRegistry(t, { environment, toml })
  const { bearer } = await mintKey(url, { view: 'partners' })
  const closing = new AbortController()
  t.teardown(() => closing.abort())
  const watch = (headers: Record<string, string>) =>
    fetch(`${url}/changes`, { headers: { ...headers, Accept: 'text/event-stream' }, signal: closing.signal })
  t.is((await watch(bearer)).status, 200)
  await eventually(
    'the limit',
    async () => (await get('/changes', { ...bearer, Prefer: 'wait=1' })).status === 429,
  )
  const { bearer: other } = await mintKey(url)
  t.deepEqual([(await watch(other)).status, (await watch(other)).status], [200, 200])
})

test('views: anonymous = "none" is 401 without a key, and a wrong key is never anonymous', async (t) => {
  const { url, get } = await startRegistry(t, { environment, toml: '[access]\nanonymous = "none"' })
  const { bearer } = await mintKey(url)
  for (const path of ['/listings', '/changes', '/facets', '/listings/a', '/publishers'])
    t.is((await get(path)).status, 401, path)
  t.is((await get('/listings', { Authorization: 'Bearer wrong' })).status, 401)
  t.is((await get('/listings', bearer)).status, 200)
})

test('views: a key whose view is not in the file is 403, and reads again when it is', async (t) => {
  const { url, get, reload } = await startRegistry(t, { environment, toml: view('') })
  const { bearer } = await mintKey(url, { view: 'partners' })
  t.is((await get('/listings', bearer)).status, 200)
  await reload('')
  const lost = await get('/listings', bearer)
  t.is(lost.status, 403)
  t.regex(lost.text, /The view 'partners' does not exist here/)
  t.is((await get('/listings')).status, 200)
  await reload(view(''))
  t.is((await get('/listings', bearer)).status, 200)
})

test('views: a lookup names the sources that decided, whatever hidden copies others hold', async (t) => {
  const copyOf = (gpu_model: string) => ({
    items: [listingText({ listing_id: 'x', offer_resource: { gpu_model, gpu_count: 8 } })],
    publishers: [[1, `0x${(gpu_model === 'H100' ? 'a' : 'b').repeat(40)}`]] as const,
  })
  const [live, hidden, held] = await Promise.all(
    ['H100', 'A100', 'H100'].map((gpu) => startFake(t, copyOf(gpu))),
  )
  const upstreams = [
    { name: 'live', url: live!.url },
    { name: 'hidden', url: hidden!.url },
    { name: 'held', url: held!.url },
  ]
  const open = async (...names: string[]) => {
    const service = await startPatientGateway(
      t,
      upstreams.filter(({ name }) => names.includes(name)),
      { more: `[access]\nanonymous = "partners"\n${view('filter = { gpu_model = "H100" }')}` },
    )
    const { text, headers } = await service.get('/listings/x')
    return {
      listing: JSON.parse(text).listing,
      named: headers.get('cache-status')?.match(/\b(?:live|hidden|held)\b/g),
    }
  }
  const { listing, named } = await open('live', 'hidden', 'held')
  t.like(listing, { _meta: { registry: 'live', also_in: ['held'] } })
  t.false('conflict' in listing._meta)
  t.deepEqual(named, ['live'])
  t.deepEqual((await open('live', 'held')).named, named)
})
