import type { Gate, Route } from '../route.ts'
import type { RouteExample } from './examples.ts'

/** In samples; the page shows its own address in its place. */
export const EXAMPLE_BASE = 'http://localhost:8080'

type Sample = { lang: string; label: string; source: string }

/** A call of a route by `curl` first, in the form of `x-codeSamples`, which several tools show. */
export function codeSamples(
  route: Route,
  address: string,
  example: RouteExample,
): readonly [Sample, ...Sample[]] {
  const curl = { lang: 'Shell', label: 'curl', source: curlOf(route, address, example) }
  if (route.gate !== 'read' || route.method !== 'GET') return [curl]
  const url = EXAMPLE_BASE + address
  const tool = TOOLS[route.path]
  return [
    curl,
    {
      lang: 'TypeScript',
      label: 'TypeScript',
      source: `const response = await fetch(${JSON.stringify(url)})\nconsole.log(await response.json())`,
    },
    {
      lang: 'Python',
      label: 'Python',
      source: `import json, urllib.request\nwith urllib.request.urlopen(${JSON.stringify(url)}) as response:\n    print(json.load(response))`,
    },
    ...(tool === undefined ? [] : [{ lang: 'JSON', label: 'MCP tool', source: JSON.stringify(tool) }]),
  ]
}

/** What answers agents the same, as `params` of `tools/call`. */
const TOOLS: Readonly<Record<string, { name: string; arguments: object }>> = {
  '/listings': { name: 'search_listings', arguments: { filters: { gpu: 'H200' }, sort: 'price', limit: 1 } },
  '/listings/:id': { name: 'get_listing', arguments: { listing_id: '7f0c1c1e' } },
  '/facets': { name: 'market_overview', arguments: { prices_by: 'gpu' } },
  '/filter-spec': { name: 'describe_filters', arguments: {} },
  '/sources': { name: 'list_sources', arguments: {} },
}

function curlOf({ method, gate }: Route, address: string, example: RouteExample): string {
  const headers = {
    ...example.headers,
    ...(KEYS[gate] !== undefined && { Authorization: `Bearer ${KEYS[gate]}` }),
    ...(example.body !== undefined && { 'Content-Type': 'application/json' }),
  }
  return [
    'curl',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    // In double quotes, where the shell inserts a variable.
    ...Object.entries(headers).map(([name, value]) => `-H "${name}: ${value}"`),
    quoted(EXAMPLE_BASE + address),
    ...(example.body === undefined ? [] : [`-d ${quoted(JSON.stringify(example.body))}`]),
  ].join(' ')
}

/** Reads usually need no key. */
const KEYS: Readonly<Partial<Record<Gate, string>>> = {
  write: '$ENTREPOT_KEY',
  metrics: '$METRICS_KEY',
  admin: '$REGISTRY_ADMIN_API_KEY',
}

const quoted = (text: string): string =>
  /^[\w/:.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
