import { listingText, startFakeRegistry } from '../../helpers/fake-registry.ts'
import { patientToml, whenReady } from '../../helpers/gateway.ts'
import { type Random, seededRandom } from '../../helpers/random.ts'
import {
  type Reply,
  type RunningService,
  send,
  startRegistry,
  type Teardown,
} from '../../helpers/registry.ts'
import type { ALICE } from '../../helpers/seller.ts'
import { BOB, mintKey, publish, ALICE as SELLER } from '../../helpers/seller.ts'

/** Names of sources, the best first. `hidden` is in no view. */
const UPSTREAMS = ['liar', 'eu', 'hidden', 'open'] as const
const SEEN = ['local', 'liar', 'eu', 'open']
const MODELS = ['H100', 'H200', 'A100', 'L4'] as const
const REGIONS = ['Frankfurt, DE', 'Reykjavik, IS', 'Oslo'] as const
const WALLETS = [SELLER, BOB, { address: `0x${'c'.repeat(40)}` }] as const
/** Listing ids, few enough that most sources have copies of the same. */
const IDS = 12

type Copy = {
  id: string
  wallet: number
  model: string
  region: string
  gpus: number
  price: string
  second: number
}
type Market = Readonly<Record<string, readonly Copy[]>>

/** What a view keeps, as the gateway file says it and as a plain predicate. */
type Rule = { toml: string; keeps: (copy: Copy) => boolean; kept: Pick<Copy, 'model' | 'region' | 'gpus'> }

const RULES: readonly Rule[] = [
  {
    toml: 'gpu_model = ["H100", "H200"]',
    keeps: ({ model }) => model === 'H100' || model === 'H200',
    kept: { model: 'H200', region: 'Oslo', gpus: 2 },
  },
  {
    toml: 'gpu = "A100"',
    keeps: ({ model }) => model === 'A100',
    kept: { model: 'A100', region: 'Oslo', gpus: 2 },
  },
  {
    toml: 'region = ["Frankfurt, DE", "Reykjavik, IS"], gpu_count_min = 4',
    keeps: ({ region, gpus }) => region !== 'Oslo' && gpus >= 4,
    kept: { model: 'L4', region: 'Reykjavik, IS', gpus: 8 },
  },
]

export type ViewsOutcome = { compared: number; hidden: number; faults: string[] }

/**
 * Compares what a reader of a view is answered with the answers of a gateway that never had the hidden sources and listings,
 * byte for byte but for times, ids of requests and sealed cursors.
 */
export async function compareViews(seed: number, requests: number): Promise<ViewsOutcome> {
  const closers: (() => unknown)[] = []
  const owner: Teardown = { teardown: (close: () => unknown) => void closers.unshift(close) }
  try {
    return await compareWithin(owner, seededRandom(seed), { seed, requests })
  } finally {
    for (const close of closers) await close()
  }
}

async function compareWithin(
  owner: Teardown,
  random: Random,
  { seed, requests }: { seed: number; requests: number },
): Promise<ViewsOutcome> {
  const rule = random.pick(RULES)
  const market = makeMarket(random, rule)
  const modes = UPSTREAMS.map(() => random.pick(['live', 'snapshot'] as const))
  const visible = withoutHidden(market, rule)
  const access = random.chance(0.5) ? 'anonymous' : 'keys'
  const view = `[access]\n${access} = "partners"\n[[views]]\nname = "partners"\nsources = ${JSON.stringify(SEEN)}\nfilter = { ${rule.toml} }\n`
  const seen = await openGateway(owner, market, {
    names: UPSTREAMS,
    modes,
    more: view,
    local: visible.local!,
  })
  const bare = await openGateway(owner, visible, {
    names: UPSTREAMS.filter((name) => name !== 'hidden'),
    modes: modes.filter((_, n) => UPSTREAMS[n] !== 'hidden'),
    more: '',
    local: [],
  })
  const reader = access === 'keys'
  const readers = [await headersOf(seen, reader), await headersOf(bare, reader)] as const
  // Live sources have answered once.
  for (const [n, { url }] of [seen, bare].entries()) await send(`${url}/listings`, { headers: readers[n]! })
  const faults: string[] = []
  let cursors: [string, string] = ['', '']
  let compared = 0
  for (; compared < requests && faults.length === 0; compared++) {
    const asked = askOf(random)
    const one = await ask(seen.url, asked, { headers: readers[0], cursor: cursors[0] })
    const other = await ask(bare.url, asked, { headers: readers[1], cursor: cursors[1] })
    const [left, right] = [settled(one), settled(other)]
    if (left !== right)
      faults.push(
        `seed ${seed}, request ${compared}: ${asked.method} ${asked.path} ${asked.body}\n--- in the view { ${rule.toml} }\n${left}\n--- without what is hidden\n${right}`,
      )
    const next = [one, other].map(({ text }) => /"next_cursor":"([^"]+)"/.exec(text)?.[1])
    if (next[0] !== undefined && next[1] !== undefined) cursors = [next[0], next[1]]
  }
  const count = (all: Market): number => Object.values(all).reduce((sum, copies) => sum + copies.length, 0)
  return { compared, hidden: count(market) - count(visible), faults }
}

/** Sources disagree about a third of what several have: a liar has what its better twin says otherwise. */
function makeMarket(random: Random, { kept }: Rule): Market {
  let second = 0
  const copiesOf = (name: string): Copy[] => {
    const ids = Array.from({ length: IDS }, (_, n) => `l${n}`).filter(() => random.chance(0.5))
    return ids.map((id) => ({
      id: random.chance(0.3) ? `${name}-${id}` : id,
      wallet: name === 'local' ? Number(id.slice(1)) % 2 : random.below(WALLETS.length),
      model: random.pick(MODELS),
      region: random.pick(REGIONS),
      gpus: 1 + random.below(8),
      price: String(1 + random.below(4)),
      second: second++,
    }))
  }
  // Directories of publishers are not filtered, and are read for listings: each upstream has one of every wallet.
  const known = (name: string): Copy[] =>
    WALLETS.map((_, wallet) => ({
      ...kept,
      id: `${name}-of-${wallet}`,
      wallet,
      price: '9',
      second: second++,
    }))
  return Object.fromEntries(
    ['local', ...UPSTREAMS].map((name) => [
      name,
      unique([...copiesOf(name), ...(name === 'local' ? [] : known(name))]),
    ]),
  )
}

function unique(copies: readonly Copy[]): readonly Copy[] {
  return [...new Map(copies.map((copy) => [copy.id, copy])).values()]
}

/** The rule, plainly applied: a listing is there if the best copy in a source of the view matches, with all its copies. */
function withoutHidden(market: Market, { keeps }: Rule): Market {
  const decided = new Map<string, boolean>()
  for (const name of SEEN)
    for (const copy of market[name]!) {
      const key = `${copy.wallet} ${copy.id}`
      if (!decided.has(key)) decided.set(key, keeps(copy))
    }
  return Object.fromEntries(
    SEEN.map((name) => [name, market[name]!.filter((copy) => decided.get(`${copy.wallet} ${copy.id}`))]),
  )
}

type Opening = {
  names: readonly string[]
  modes: readonly string[]
  more: string
  /** Listings of the local Registry that are published first. */
  local: readonly Copy[]
}

async function openGateway(
  owner: Teardown,
  market: Market,
  { names, modes, more, local }: Opening,
): Promise<RunningService> {
  const publishers = WALLETS.map(({ address }, n) => [n + 1, address, storefrontOf(n)] as const)
  const upstreams = []
  for (const [n, name] of names.entries()) {
    const items = market[name]!.toSorted((a, b) => b.second - a.second).map(textOf)
    const fake = await startFakeRegistry({ items, publishers })
    owner.teardown(() => fake.close())
    upstreams.push({ name, url: fake.url, settings: `mode = "${modes[n]}"` })
  }
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const service = await startRegistry(owner, { environment, toml: patientToml(upstreams, more) })
  await whenReady(service)
  // In this order wallets have the same ids whatever is published later.
  for (const copy of [...local, ...market.local!.filter((copy) => !local.includes(copy))]) {
    const { id, ...fields } = fieldsOf(copy)
    const wallet = WALLETS[copy.wallet] as typeof ALICE
    const { status, text } = await publish(service.url, wallet, { listing_id: id, ...fields })
    if (status !== 201) throw new Error(`publish: ${status} ${text}`)
  }
  return service
}

const storefrontOf = (wallet: number): string => `http://seller-${wallet}.example/`

const fieldsOf = ({ id, wallet, model, region, gpus, price }: Copy) => ({
  id,
  storefront_url: storefrontOf(wallet),
  offer_resource: { resource_type: 'compute', gpu_model: model, gpu_count: gpus, region },
  accepted_escrows: [
    {
      chain_name: 'base',
      literal_fields: { token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' },
      rates: [{ field: 'amount', value: `${price}000000`, per: 'hour' }],
    },
  ],
})

function textOf(copy: Copy): string {
  const { id, ...fields } = fieldsOf(copy)
  const created_at = `2026-11-20T10:${String(Math.floor(copy.second / 60)).padStart(2, '0')}:${String(copy.second % 60).padStart(2, '0')}`
  return listingText({ listing_id: id, publisher_id: copy.wallet + 1, created_at, ...fields })
}

async function headersOf({ url }: RunningService, hasKey: boolean): Promise<Record<string, string>> {
  return hasKey ? (await mintKey(url)).bearer : {}
}

type Asked = { method: 'GET' | 'POST'; path: string; body: string; headers: Record<string, string> }

/** `CURSOR` stands for the latest one. */
function askOf(random: Random): Asked {
  const get = (path: string, headers = {}): Asked => ({ method: 'GET', path, body: '', headers })
  const tool = (name: string, args: object): Asked => ({
    method: 'POST',
    path: '/mcp',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
  })
  const filter = random.pick([
    '',
    '',
    '&gpu_model=H100',
    '&gpu=A100',
    '&region=Oslo',
    '&gpu_count_min=5',
    '&gpu_model=none',
  ])
  const order = random.pick([
    '',
    '&sort=price',
    '&sort=price&price_token=USDC',
    '&price_token=USDC&price_max=2',
  ])
  const limit = random.pick([1, 3, 50])
  const id = random.pick(['l0', 'l1', 'l2', 'l3', 'eu-l4', 'open-l5', 'hidden-l1', 'nothing'])
  return random.pick([
    () => get(`/listings?limit=${limit}${filter}${order}`),
    () => get(`/listings?limit=${limit}&offset=${random.below(9)}${filter}${order}`),
    () => get('/listings?limit=3&cursor=CURSOR'),
    () => get(`/listings?limit=3&cursor=${filter}`),
    () => get(`/listings?explain=true${filter}`),
    () => get(`/listings?status=${random.pick(['closed', 'open', ''])}${filter}`),
    () => get(`/listings?sources=${random.pick(['local', 'local,liar', 'hidden', 'liar,nothing'])}${filter}`),
    () => get(`/listings?publisher=${WALLETS[random.below(WALLETS.length)]!.address}${filter}`),
    () => get(`/listings?publisher=0x${'d'.repeat(40)}&nothing=1`),
    () => get(`/listings?${filter.slice(1)}`, { Accept: 'application/x-ndjson' }),
    () => get('/listings', { 'Cache-Control': 'no-cache' }),
    () => get(`/listings?hidden_filter=1${filter}`),
    () => get(`/listings/${id}`),
    () => get(`/listings/${id}?registry=${random.pick(['local', 'hidden', 'nothing'])}`),
    () => get(`/facets?by=gpu_model,region,registry,gpu${filter}`),
    () => get(`/facets?by=region&prices_by=gpu_model${filter}`),
    () => get('/sources'),
    () => get('/vocabulary'),
    () => get('/filter-spec'),
    () => get('/tokens'),
    () => get('/publishers'),
    () => get(`/publishers?identifier=${WALLETS[random.below(WALLETS.length)]!.address}`),
    () => get('/api/v1/system/stats'),
    () => tool('search_listings', { limit }),
    () => tool('search_listings', { filters: { gpu_model: random.pick(MODELS) }, sort: 'price' }),
    () => tool('get_listing', { listing_id: id }),
    () => tool('market_overview', {}),
    () => tool('describe_filters', {}),
    () => tool('list_sources', {}),
  ])()
}

function ask(
  url: string,
  { method, path, body, headers }: Asked,
  reader: { headers: Record<string, string>; cursor: string },
): Promise<Reply> {
  const target = `${url}${path.replace('CURSOR', reader.cursor)}`
  return send(target, { method, ...(body && { body }), headers: { ...headers, ...reader.headers } })
}

const HEADERS = ['cache-control', 'cache-status', 'vary', 'via', 'content-type', 'etag', 'link'] as const

/** Without times, sealed cursors and counts of bytes, which differ in any two services. */
function settled({ status, headers, text }: Reply): string {
  const head = HEADERS.map((name) => `${name}: ${headers.get(name)}`).join('\n')
  return `${status}\n${head}\n\n${text}`
    .replaceAll(/\\?"(elapsed_ms|age_seconds)\\?":\d+/g, '"$1":0')
    .replaceAll(/\\?"next_cursor\\?":\\?"[^"\\]+\\?"/g, '"next_cursor":"…"')
    .replaceAll(/cursor: [\w-]{50,}/g, 'cursor: …')
    .replaceAll(/\d+ s old/g, 'AGE old')
    .replaceAll(/(fwd=miss;stored|hit);ttl=-?\d+/g, 'ttl')
    .replaceAll(/\\?"cache\\?":\\?"(hit|miss)\\?"/g, '"cache"')
    .replaceAll(/max-age=\d+/g, 'max-age=0')
    .replaceAll(/etag: W\/.*/g, 'etag: …')
    .replaceAll(/20\d\d-\d\d-\d\dT[\d:.]+Z?/g, 'TIME')
    .replaceAll(/(oldest reading(?: is)?) \d+ \w+/g, '$1 AGE')
    .replaceAll(/,?"excluded":\{("[^"]+":\{[^}]*\},?)*\}/g, '')
    .replaceAll(/\\?"instance\\?":\\?"[^"\\]*\\?"/g, '')
}
