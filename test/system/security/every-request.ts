import type { privateKeyToAccount } from 'viem/accounts'
import { publishBody, sign, unixNow } from '../../helpers/seller.ts'

export type Wallet = ReturnType<typeof privateKeyToAccount>

/** Sends a request whose response is searched; resolves with its text. */
export type SendRequest = (
  method: string,
  path: string,
  headers?: Record<string, string>,
  body?: unknown,
) => Promise<string>

const PAGES = ['/', '/operator', '/docs']

/** Every route that reads, with every key, good and bad questions. */
export async function readEverything(send: SendRequest, keys: readonly string[]): Promise<void> {
  const { paths } = JSON.parse(await send('GET', '/openapi.json')) as {
    paths: Record<string, Record<string, unknown>>
  }
  const routes = Object.entries(paths)
    .filter(([, methods]) => 'get' in methods)
    .map(([path]) => path.replace(/\{\w+\}/, 'good-0001'))
  for (const headers of [{}, ...keys.map(bearer), { Authorization: `Basic ${btoa(`x:${keys.at(-1)}`)}` }]) {
    for (const path of routes) await send('GET', path, headers)
    for (const path of PAGES) await send('GET', path, { ...headers, Accept: 'text/html' })
    await send('GET', '/listings', { ...headers, Accept: 'application/x-ndjson' })
    for (const path of [
      '/listings?require=all',
      '/listings?sources=fault,refusal',
      '/listings?sources=no-http',
      '/listings?limit=0',
      '/listings/none?registry=listing',
      '/nowhere',
      `/listings?api_key=${keys[0]}`,
      `/listings?gpu_model=${keys.at(-1)}&limit=x`,
    ])
      await send('GET', path, headers)
  }
}

/** Publishing and the rest, well and badly signed, with every key. */
export async function writeEverything(
  send: SendRequest,
  seller: Wallet,
  keys: readonly string[],
): Promise<void> {
  for (const [n, key] of keys.entries()) {
    const headers = bearer(key)
    const listing = await publishBody(seller, {
      listing_id: `mine-${n}`,
      offer_resource: { gpu_model: 'H200' },
    })
    await send('POST', '/listings', headers, listing)
    await send('POST', '/listings', headers, { ...listing, max_duration_seconds: 1 })
    await send('POST', '/listings', headers, { ...listing, signature: `0x${'0'.repeat(130)}` })
    await send('POST', '/listings', headers, { ...listing, identifier: key, api_key: key })
    await send('POST', '/listings', headers, `{"api_key": "${key}", }`)
    await send('POST', '/api/v1/listings/validate-publish', headers, listing)
    const timestamp = unixNow()
    const signature = await sign(seller, 'update_listing', `mine-${n}`, timestamp)
    await send('PUT', `/listings/mine-${n}`, headers, { status: 'closed', signature, timestamp })
    await send('DELETE', `/listings/mine-${n}?signature=${signature}&timestamp=${timestamp}`, headers)
    await send('POST', '/admin/api-keys', headers, { name: 'x' })
    await send('DELETE', '/admin/api-keys/999', headers)
    await send('GET', '/admin/audit?limit=1000', headers)
  }
}

export async function callTools(send: SendRequest, keys: readonly string[]): Promise<void> {
  for (const key of keys)
    for (const [name, given] of Object.entries({
      search_listings: {},
      list_sources: {},
      describe_filters: {},
      get_listing: { listing_id: 'echo', registry: 'listing' },
      no_such_tool: { api_key: 'x' },
    }))
      await send(
        'POST',
        '/mcp',
        { ...bearer(key), Accept: 'application/json, text/event-stream' },
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } },
      )
}

export const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` })
