import type { Call, Market, Reply } from '../cli/market.ts'
import { routeOf } from '../cli/market.ts'
import type { Registry } from '../cli/select-registries.ts'
import { systemClock } from '../domain/clock.ts'
import { untilAborted, withDeadline } from '../domain/deadline.ts'
import { objectMembers } from '../domain/json-members.ts'
import type { Page, Source } from '../domain/page.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { createAgent } from '../upstream/agent.ts'
import { fetchInTurn } from '../upstream/fetch-in-turn.ts'
import { type FetchListings, fetchListings, MAX_PAGE_BYTES } from '../upstream/fetch-listings.ts'
import { getFrom } from '../upstream/get.ts'
import { parseListingPage } from '../upstream/listing-page.ts'
import { isPrivateAddress } from '../upstream/private-addresses.ts'
import { PublisherBook } from '../upstream/publisher-book.ts'
import { fetchPublishers } from '../upstream/publishers.ts'
import { ACCEPT_ENCODING, readBody } from '../upstream/read-body.ts'
import { readPrefix } from '../upstream/read-prefix.ts'
import { reasonOfStatus, toSourceError } from '../upstream/source-reason.ts'
import { withGaps } from '../upstream/with-gaps.ts'
import { withPublishers } from '../upstream/with-publishers.ts'

type Agent = ReturnType<typeof createAgent>

/** The composition root of the command line: the only place where its ways to Registries are made. */
export const openMarket = (): Market => {
  const agents: Agent[] = []
  const agentFor = (allowPrivateAddresses: boolean): Agent => {
    const agent = createAgent({
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      maxInFlight: IN_FLIGHT,
      allowPrivateAddresses,
    })
    agents.push(agent)
    return agent
  }
  // Users name their Registries themselves; where a storefront is, sellers say.
  const registries = agentFor(true)
  const strangers = agentFor(false)
  const send = sender(({ toldBy }) => (toldBy === undefined || isLocal(toldBy) ? registries : strangers))
  return {
    source: (registry, timeoutMs) => openSource(upstreamOptions(registry, timeoutMs), registries),
    findListing: (registry, id, timeoutMs) => findListing(send, registry, id, timeoutMs),
    send,
    close: async () => void (await Promise.all(agents.map((agent) => agent.destroy()))),
  }
}

/** On the user's own machine or network: what it tells of may be there too. */
const isLocal = ({ url }: Registry): boolean => {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return isPrivateAddress(host) || !/[.:]/.test(host) || /\.(localhost|local|internal)$/.test(host)
}

const CONNECT_TIMEOUT_MS = 3000
const IN_FLIGHT = 8
/** Most listings read of one Registry to apply a filter that it lacks. */
const SCAN_LIMIT = 2000

const upstreamOptions = ({ url, key }: Registry, timeoutMs: number): UpstreamOptions => ({
  name: url,
  url: url.replace(/\/+$/, ''),
  // Its user has named it herself, so what it says of Registries behind it is believed; a plain one says nothing.
  kind: 'gateway',
  visibility: 'public',
  mode: 'live',
  key,
  priority: 0,
  timeoutMs,
  connectTimeoutMs: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
  maxInFlight: IN_FLIGHT,
  refreshSeconds: 0,
  scanLimit: SCAN_LIMIT,
  maxListings: 0,
  allowPrivateAddresses: true,
})

const openSource = (upstream: UpstreamOptions, agent: Agent): Source => {
  const fetch = fetchInTurn(upstream, fetchListings(upstream, agent))
  const book = new PublisherBook(fetchPublishers(getFrom(upstream, agent)), systemClock)
  const attributed: FetchListings = async (query, offset, signal) => {
    const page = await fetch(query, offset, signal)
    // A gateway tells whose its items are itself; its own publishers have other numbers.
    if (page.items.some(({ item }) => item.origin !== undefined)) return page
    return withPublishers(book, async () => page)(query, offset, signal)
  }
  const read =
    (fetching: FetchListings): Source =>
    (query, signal) =>
      readPrefix(upstream, fetching, query, signal)
  return withGaps(attributed, read)
}

const sender =
  (agentOf: (call: Call) => Agent) =>
  async (call: Call): Promise<Reply> => {
    const { method, url, key, body, timeoutMs: ms } = call
    const { origin, pathname, search } = new URL(url)
    const headers = {
      accept: 'application/json',
      'accept-encoding': ACCEPT_ENCODING,
      'user-agent': 'entrepot',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    }
    const late = new SourceError('timeout', `${origin}: no answer within ${ms} ms`)
    const exchange = async (signal: AbortSignal): Promise<Reply> => {
      const request = { origin, path: `${pathname}${search}`, method, headers, body: body ?? null, signal }
      const answer = await agentOf(call).request(request)
      const texts = Object.entries(answer.headers).map(([name, value]) => [name, String(value ?? '')])
      const encoding = answer.headers['content-encoding']?.toString()
      return {
        status: answer.statusCode,
        headers: Object.fromEntries(texts),
        body: await readBody(answer.body, encoding, MAX_PAGE_BYTES),
      }
    }
    try {
      const caller = new AbortController().signal
      return await withDeadline({ ms, late, caller }, (signal) => untilAborted(exchange(signal), signal))
    } catch (error) {
      throw toSourceError(error, origin)
    }
  }

const findListing = async (
  send: Market['send'],
  registry: Registry,
  id: string,
  timeoutMs: number,
): Promise<Page> => {
  const url = routeOf(registry, `/listings/${encodeURIComponent(id)}`)
  const { status, body } = await send({ method: 'GET', url, key: registry.key, timeoutMs })
  if (status === 404) return { items: [], total: 0, ageSeconds: 0, stale: false }
  if (status !== 200) throw new SourceError(reasonOfStatus(status), `${registry.url}: answered ${status}`)
  const { items } = parseListingPage(
    Buffer.concat([PAGE_START, listingIn(body, registry), PAGE_END]),
    'gateway',
  )
  const found = items.filter(({ item }) => item.listingId === id).map(({ item }) => item)
  if (found.length === 0)
    throw new SourceError(
      'bad_envelope',
      `${registry.url}: answered with something that is not listing ${id}`,
    )
  return { items: found, total: 1, ageSeconds: 0, stale: false }
}

const PAGE_START = Buffer.from('{"items":[')
const PAGE_END = Buffer.from('],"count":1,"total_after_filter":1}')

/** The envelope is `{"listing": …}`; the reference client takes a bare row too (`protocol.md` 2). */
const listingIn = (body: Buffer, registry: Registry): Buffer => {
  try {
    const member = objectMembers(body).findLast(({ name }) => name === 'listing')
    return member === undefined ? body : body.subarray(member.value.start, member.value.end)
  } catch (cause) {
    throw new SourceError('not_json', `${registry.url}: the answer is not JSON`, { cause })
  }
}
