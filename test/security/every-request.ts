import type { privateKeyToAccount } from 'viem/accounts'
import { publishBody, sign, unixNow } from '../helpers/seller.ts'
import { bearer } from './bearer.ts'

export type Wallet = ReturnType<typeof privateKeyToAccount>

/** Asks and is heard; resolves with the text of the answer. */
export type Ask = (
  method: string,
  path: string,
  headers?: Record<string, string>,
  body?: unknown,
) => Promise<string>

const PAGES = ['/', '/operator', '/docs']

/** Every route that reads, with every key, good and bad questions. */
export async function readEverything(ask: Ask, keys: readonly string[]): Promise<void> {
  const { paths } = JSON.parse(await ask('GET', '/openapi.json')) as {
    paths: Record<string, Record<string, unknown>>
  }
  const routes = Object.entries(paths)
    .filter(([, methods]) => 'get' in methods)
    .map(([path]) => path.replace(/\{\w+\}/, 'good-0001'))
  for (const headers of [{}, ...keys.map(bearer), { Authorization: `Basic ${btoa(`x:${keys.at(-1)}`)}` }]) {
    for (const path of routes) await ask('GET', path, headers)
    for (const path of PAGES) await ask('GET', path, { ...headers, Accept: 'text/html' })
    await ask('GET', '/listings', { ...headers, Accept: 'application/x-ndjson' })
    for (const path of [
      '/listings?explain=true&require=all',
      '/listings?sources=fault,refusal',
      '/listings?sources=no-http',
      '/listings?limit=0',
      '/listings/none?registry=listing',
      '/nowhere',
      `/listings?api_key=${keys[0]}`,
      `/listings?gpu_model=${keys.at(-1)}&limit=x`,
    ])
      await ask('GET', path, headers)
  }
}

/** Publishing and the rest, well and badly signed, with every key. */
export async function writeEverything(ask: Ask, seller: Wallet, keys: readonly string[]): Promise<void> {
  for (const [n, key] of keys.entries()) {
    const headers = bearer(key)
    const listing = await publishBody(seller, {
      listing_id: `mine-${n}`,
      offer_resource: { gpu_model: 'H200' },
    })
    await ask('POST', '/listings', headers, listing)
    await ask('POST', '/listings', headers, { ...listing, max_duration_seconds: 1 })
    await ask('POST', '/listings', headers, { ...listing, signature: `0x${'0'.repeat(130)}` })
    await ask('POST', '/listings', headers, { ...listing, identifier: key, api_key: key })
    await ask('POST', '/listings', headers, `{"api_key": "${key}", }`)
    await ask('POST', '/api/v1/listings/validate-publish', headers, listing)
    const timestamp = unixNow()
    const signature = await sign(seller, 'update_listing', `mine-${n}`, timestamp)
    await ask('PUT', `/listings/mine-${n}`, headers, { status: 'closed', signature, timestamp })
    await ask('DELETE', `/listings/mine-${n}?signature=${signature}&timestamp=${timestamp}`, headers)
    await ask('POST', '/admin/api-keys', headers, { name: 'x' })
    await ask('DELETE', '/admin/api-keys/999', headers)
  }
}

export async function askAsAgent(ask: Ask, keys: readonly string[]): Promise<void> {
  for (const key of keys)
    for (const [name, given] of Object.entries({
      search_listings: {},
      list_sources: {},
      describe_filters: {},
      get_listing: { listing_id: 'echo', registry: 'listing' },
      no_such_tool: { api_key: 'x' },
    }))
      await ask(
        'POST',
        '/mcp',
        { ...bearer(key), Accept: 'application/json, text/event-stream' },
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } },
      )
}
