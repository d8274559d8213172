import { request } from 'node:http'
import type { ALICE } from './seller.ts'
import { sign, unixNow } from './seller.ts'

type Wallet = typeof ALICE
type Json = Record<string, unknown>

/** `METHOD url → HTTP code` and the body, like the Python client's error. */
export class RegistryClientError extends Error {
  readonly status: number
  readonly body: string

  constructor(method: string, url: string, status: number, body: string) {
    super(`${method} ${url} → HTTP ${status}\n${body}`)
    this.status = status
    this.body = body
  }
}

/**
 * Sends the requests of the deployed Python client `registry_client` 0.10, and reads answers like it. Independent of our
 * implementation.
 */
export class ReferenceClient {
  readonly #baseUrl: string
  readonly #apiKey: string | null
  readonly #now: () => number

  constructor(baseUrl: string, apiKey: string | null = null, now: () => number = unixNow) {
    this.#baseUrl = baseUrl.replace(/\/+$/, '')
    this.#apiKey = apiKey
    this.#now = now
  }

  /** `limit` and `offset` are always sent, `status` unless null; booleans are lower-case words. */
  async listListings({
    status = 'open',
    publisher = null,
    limit = 50,
    offset = 0,
    etag = null,
    filters = {},
  }: {
    status?: string | null
    publisher?: string | null
    limit?: number
    offset?: number
    etag?: string | null
    filters?: Record<string, string | number | boolean | null>
  } = {}): Promise<Json[]> {
    const query = new URLSearchParams({ limit: String(limit), offset: String(offset) })
    if (status !== null) query.set('status', status)
    if (publisher !== null) query.set('publisher', publisher)
    for (const [name, value] of Object.entries(filters)) if (value !== null) query.set(name, String(value))
    const headers: Record<string, string> =
      etag === null ? {} : { 'If-Match': etag.startsWith('"') ? etag : `"${etag}"` }
    const answer = await this.#call('GET', `/listings?${query}`, { headers })
    const { items } = answer as { items: Json[] }
    return items.map((row) => ({
      ...row,
      accepted_escrows: row.accepted_escrows || [],
      demands: row.demands || [],
    }))
  }

  /** The id is in the path, unencoded. */
  async getListing(id: string): Promise<Json> {
    const answer = await this.#call('GET', `/listings/${id}`)
    return (answer.listing ?? answer) as Json
  }

  /** Never a status or an oracle; the signature in hex without `0x`. */
  async publishListing(listing: Json, wallet: Wallet): Promise<Json> {
    const identifier = wallet.address.toLowerCase()
    const timestamp = this.#now()
    const signature = bare(await sign(wallet, 'create_listing', identifier, timestamp))
    const body = {
      listing_id: listing.listing_id,
      offer_resource: listing.offer_resource ?? {},
      accepted_escrows: listing.accepted_escrows ?? [],
      demands: listing.demands ?? [],
      max_duration_seconds: listing.max_duration_seconds ?? null,
      storefront_url: listing.storefront_url,
      scheme: 'eip191',
      identifier,
      signature,
      timestamp,
    }
    return this.#call('POST', '/listings', { body, expected: [201] })
  }

  async updateListing(id: string, updates: Json, wallet: Wallet | null): Promise<Json> {
    const timestamp = this.#now()
    const signed =
      wallet === null
        ? {}
        : { signature: bare(await sign(wallet, 'update_listing', id, timestamp)), timestamp }
    return this.#call('PUT', `/listings/${id}`, { body: { ...updates, ...signed } })
  }

  async deleteListing(id: string, wallet: Wallet): Promise<void> {
    const timestamp = this.#now()
    const signature = bare(await sign(wallet, 'delete_listing', id, timestamp))
    await this.#call('DELETE', `/listings/${id}?signature=${signature}&timestamp=${timestamp}`, {
      expected: [204],
    })
  }

  async listPublishers(query: Record<string, string> = {}): Promise<Json[]> {
    return (await this.#call('GET', `/publishers?${new URLSearchParams(query)}`)).items as Json[]
  }

  getPublisher(id: number): Promise<Json> {
    return this.#call('GET', `/publishers/${id}`)
  }

  getHealth(): Promise<Json> {
    return this.#call('GET', '/health')
  }

  getSystemStats(): Promise<Json> {
    return this.#call('GET', '/api/v1/system/stats')
  }

  getFilterSpec(): Promise<Json> {
    return this.#call('GET', '/filter-spec')
  }

  /** Never demands; the duration unless null. */
  validatePublishListing(listing: Json): Promise<Json> {
    const { demands: _, max_duration_seconds: duration, ...body } = listing
    return this.#call('POST', '/api/v1/listings/validate-publish', {
      body: duration == null ? body : { ...body, max_duration_seconds: duration },
      expected: [200],
    })
  }

  /** Plain `node:http`, which sends a path unchanged. Redirects are not followed. */
  #call(
    method: string,
    path: string,
    {
      body,
      headers = {},
      expected = [200, 201],
    }: { body?: Json; headers?: Record<string, string>; expected?: number[] } = {},
  ): Promise<Json> {
    const url = `${this.#baseUrl}${path}`
    const { hostname, port } = new URL(this.#baseUrl)
    const auth = this.#apiKey === null ? {} : { Authorization: `Bearer ${this.#apiKey}` }
    const content = body === undefined ? {} : { 'Content-Type': 'application/json' }
    const options = {
      method,
      hostname,
      port,
      path,
      headers: { Accept: 'application/json', ...auth, ...content, ...headers },
    }
    return new Promise((resolve, reject) => {
      const outgoing = request(options, async (response) => {
        let text = ''
        for await (const chunk of response.setEncoding('utf8')) text += chunk
        const status = response.statusCode!
        if (!expected.includes(status)) reject(new RegistryClientError(method, url, status, text))
        else resolve(text === '' ? null : JSON.parse(text))
      })
      outgoing.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
    })
  }
}

const bare = (hex: string): string => hex.replace(/^0x/, '')
