import type { Random } from '../../helpers/random.ts'
import type { Reply } from '../../helpers/registry.ts'
import type { ViewMarket } from './view-market.ts'

export type Asked = {
  method: 'GET' | 'POST'
  path: string
  body: string
  headers: Record<string, string>
  /** Which of the worse sources have answered by then is chance. */
  isLookup: boolean
}

const FILTERS = ['', '', '&gpu_model=H100', '&gpu=A100', '&region=eu', '&gpu_count_min=5', '&gpu_model=none']
const ORDERS = ['', '&sort=price', '&sort=price&price_token=USDC', '&price_token=USDC&price_max=2']

/** What a reader may ask; `CURSOR` stands for the latest one. */
export function askOf(market: ViewMarket, random: Random): Asked {
  const filter = random.pick(FILTERS)
  const order = random.pick(ORDERS)
  const limit = random.pick([1, 3, 50])
  const listings = market.registries.flatMap((registry) => registry.listings())
  const copies = [...listings, ...market.sold]
  const id = random.chance(0.1) ? 'nothing' : random.pick(copies).listingId
  const model = random.pick(['H100', 'A100', 'B200'])
  const { address } = random.pick(copies).publisher
  // A Registry that names no publishers cannot answer for one, were all of its listings hidden.
  const unknown = `0x${'d'.repeat(40)}`
  const [publisher, stranger] = market.namesPublishers
    ? [`publisher=${address}`, `publisher=${unknown}`]
    : ['', '']
  return random.pick([
    () => get(`/listings?limit=${limit}${filter}${order}`),
    () => get(`/listings?limit=${limit}&offset=${random.below(9)}${filter}${order}`),
    () => get('/listings?limit=3&cursor=CURSOR'),
    () => get('/listings?limit=3&cursor=CURSOR'),
    () => get(`/listings?limit=3&cursor=${filter}`),
    () => get(`/listings?status=${random.pick(['closed', 'open', ''])}${filter}`),
    () => get(`/listings?sources=${random.pick(['local', 'local,liar', 'hidden', 'liar,nothing'])}${filter}`),
    () => get(`/listings?${publisher}${filter}`),
    () => get(`/listings?${stranger}&nothing=1`),
    () => get(`/listings?${filter.slice(1)}`, { Accept: 'application/x-ndjson' }),
    () => get('/listings', { 'Cache-Control': 'no-cache' }),
    () => get(`/listings?hidden_filter=1${filter}`),
    () => lookup(get(`/listings/${id}`)),
    () => lookup(get(`/listings/${id}`)),
    () => lookup(get(`/listings/${id}?registry=${random.pick(['local', 'hidden', 'nothing'])}`)),
    () => get(`/facets?by=gpu_model,region,registry,gpu${filter}`),
    () => get(`/facets?by=region&prices_by=gpu_model${filter}`),
    () => get('/sources'),
    () => get('/vocabulary'),
    () => get('/filter-spec'),
    () => get('/tokens'),
    () => get('/publishers'),
    () => get(`/publishers?identifier=${address}`),
    () => get('/api/v1/system/stats'),
    () => get('/changes'),
    () => tool('search_listings', { limit }),
    () => tool('search_listings', { filters: { gpu_model: model }, sort: 'price' }),
    () => lookup(tool('get_listing', { listing_id: id })),
    () => tool('market_overview', {}),
    () => tool('market_changes', {}),
    () => tool('describe_filters', {}),
    () => tool('list_sources', {}),
  ])()
}

const get = (path: string, headers = {}): Asked => ({
  method: 'GET',
  path,
  body: '',
  headers,
  isLookup: false,
})

const tool = (name: string, args: object): Asked => ({
  method: 'POST',
  path: '/mcp',
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
  isLookup: false,
})

const lookup = (asked: Asked): Asked => ({ ...asked, isLookup: true })

const HEADERS = ['cache-control', 'cache-status', 'vary', 'via', 'content-type', 'etag', 'link'] as const

export function settled({ status, headers, text }: Reply): string {
  const head = HEADERS.map((name) => `${name}: ${headers.get(name)}`).join('\n')
  return withoutChance(`${status}\n${head}\n\n${isDirectory(text) ? sortedDirectory(text) : text}`)
}

/** Publishers come in the order of their first listing, whatever became of it. */
const isDirectory = (text: string): boolean =>
  /^\{"items":\[\{"publisher_id":\d+,"storefront_url":[^,]*,"identities"/.test(text)

function sortedDirectory(text: string): string {
  const { items, ...rest } = JSON.parse(text) as { items: { storefront_url: string }[] }
  return JSON.stringify({ items: items.map((item) => JSON.stringify(item.storefront_url)).sort(), ...rest })
}

/**
 * Without times, sealed texts and counts of bytes, which differ in any two services, and numbers that a store gives publishers.
 */
export const withoutChance = (text: string): string =>
  CHANCE.reduce((left, [pattern, put]) => left.replaceAll(pattern, put as string), text)

const CHANCE: readonly (readonly [pattern: RegExp, put: string])[] = [
  [/\\?"(elapsed_ms|age_seconds|publisher_id)\\?":\d+/g, '"$1":0'],
  [/2\d\d\d-\d\d-\d\dT[\d:.]+Z?/g, 'TIME'],
  [/\d+ (s|min|h|d) (old|ago)/g, 'AGE old'],
  [/(oldest reading:?(?: is)?) \d+ \w+/gi, '$1 AGE'],
  [/\\?"(next_cursor|position)\\?":\\?"[^"\\]+\\?"/g, '"$1":"…"'],
  [/(cursor|since): [\w.-]{20,}/g, '$1: …'],
  [/etag: W\/.*/g, 'etag: …'],
  [/\\?"instance\\?":\\?"[^"\\]*\\?"/g, ''],
  // How each gateway has read a source, and which of its requests to one that is away failed how.
  [/max-age=\d+/g, 'max-age=0'],
  [/(fwd=miss;stored|hit);ttl=-?\d+/g, 'ttl'],
  [/ttl=-?\d+/g, 'ttl'],
  [/\\?"cache\\?":\\?"(hit|miss)\\?"/g, '"cache"'],
  [/,?"excluded":\{("[^"]+":\{[^}]*\},?)*\}/g, ''],
  [/\\?"breaker\\?":\\?"\w+\\?"/g, '"breaker"'],
  [/connection_reset|circuit_open/g, 'away'],
  [/closed the connection early|keeps failing, and is tried again in a moment/g, 'is away'],
  [/is unavailable: it is away \(away\)/g, 'is unavailable'],
  [/\\?"last_error\\?":(\{[^}]*\}|null)/g, '"last_error"'],
  [/(\\?"state\\?":\\?"unavailable.{0,300}?"listings\\?":)(null|\d+)/g, '$1null'],
  [/(unavailable\|[^|]*\|[^|]*)\|\d+ listings?/g, '$1'],
]
