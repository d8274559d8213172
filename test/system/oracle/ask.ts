import { Agent, request } from 'node:http'
import { type Micros, parseTimestamp } from '../../../src/domain/timestamp.ts'
import type { Moment } from './history.ts'
import { type Question, wholeTokens } from './model.ts'

/** An item of an answer. */
export type Shown = {
  listingId: string
  /** JSON of the listing without `_meta`. */
  text: string
  createdAt: Micros
  registry: string
  /** The signing address; `null` where the gateway does not know it. */
  publisher: string | null
  alsoIn: readonly string[]
  conflict: boolean
  differs: boolean
  /** Better sources that might have the listing, and are not held whole. */
  unchecked: readonly string[]
  /** Better sources that know the publisher, and do not have the listing. */
  notIn: readonly string[]
  /** The amount of the price that was compared. */
  price: string | null
}

export type SourceState = {
  registry: string
  state: string
  reason?: string
  matched?: number | null
  returned?: number
  held?: number
  of?: number
  age_seconds?: number
}

/** What every answer says about its sources. */
export type Completeness = { begin: Moment; end: Moment; complete: boolean; sources: readonly SourceState[] }

/** One response with listings: a page, or a whole stream. */
export type Page = Completeness & {
  items: readonly Shown[]
  /** Items that the answer counts as unchecked. */
  unchecked: number
  /** `null` for a stream. */
  total: number | null
  nextCursor: string | null
}

export type Answer = {
  /** The requests, for messages. */
  asked: string
  question: Question
  /** `search`: the pages of the agents' tool. */
  kind: 'page' | 'pages' | 'walk' | 'stream' | 'search'
  /** Listings before the first page. */
  offset: number
  limit: number
  pages: readonly Page[]
  /** Whether the last page is the last of the sequence. */
  isToEnd: boolean
}

export type FoundOne = {
  asked: string
  listingId: string
  begin: Moment
  end: Moment
  /** `null` where no source that answered has it. */
  shown: Shown | null
  /** Of a stale copy, as it says; 0 for any other. */
  ageMs: number
  complete: boolean
}

/** An answer that no healthy source excuses. */
export class Refused extends Error {}

export type Asking = { url: string; now: () => Moment }

/** @throws Refused */
export async function askPage(
  asking: Asking,
  question: Question,
  paging: string,
  headers: Record<string, string> = {},
): Promise<Page> {
  const { times, body } = await ask(asking, `/listings?${parametersOf(question)}${paging}`, headers)
  return pageOf(times, JSON.parse(body))
}

export async function askStream(asking: Asking, question: Question): Promise<Page> {
  const target = `/listings?${parametersOf(question)}`
  const { times, body } = await ask(asking, target, { accept: 'application/x-ndjson' })
  if (!body.includes('"_meta"')) return pageOf(times, JSON.parse(body))
  const lines = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const { _meta: last } = lines.pop()
  if (typeof last?.complete !== 'boolean') throw new Refused(`NDJSON ${target} ends early`)
  return pageOf(times, { ...last, items: lines })
}

/** The status of a page beyond the bound of pages by offset. */
export async function askBeyond({ url }: Asking, question: Question): Promise<number> {
  return (await send(`${url}/listings?${parametersOf(question)}&limit=100&offset=1901`, {})).status
}

export async function askOne({ url, now }: Asking, listingId: string): Promise<FoundOne> {
  const begin = now()
  const target = `/listings/${encodeURIComponent(listingId)}`
  const { status, body } = await send(url + target, {})
  const found = { asked: `GET ${target}`, listingId, begin, end: now() }
  if (status === 404 || MISSING.includes(status))
    return { ...found, shown: null, ageMs: 0, complete: status === 404 }
  if (status !== 200) throw new Refused(`GET ${target} is answered ${status}: ${body.slice(0, 2000)}`)
  const { listing, complete = true } = JSON.parse(body)
  const { stale, age_seconds } = listing._meta
  return { ...found, shown: readItem(listing), ageMs: stale ? (age_seconds + 1) * 1000 : 0, complete }
}

/** A source that might have the listing did not answer. */
const MISSING = [502, 503, 504]

export type Times = Pick<Completeness, 'begin' | 'end'>

/** A 503 or 504 has sources and nothing else. @throws Refused for another status than these */
export async function ask(
  { url, now }: Asking,
  target: string,
  headers: Record<string, string> = {},
): Promise<{ times: Times; body: string }> {
  const begin = now()
  const { status, body } = await send(url + target, headers)
  if (status !== 200 && status !== 503 && status !== 504)
    throw new Refused(`GET ${target} is answered ${status}: ${body.slice(0, 2000)}`)
  return { times: { begin, end: now() }, body }
}

export type WirePage = {
  items?: WireItem[]
  complete?: boolean
  sources: SourceState[]
  unchecked?: number
  total_after_filter?: number
  next_cursor?: string
}

export function pageOf(times: Times, page: WirePage): Page {
  return {
    ...times,
    items: (page.items ?? []).map(readItem),
    complete: page.complete === true,
    sources: page.sources,
    unchecked: page.unchecked ?? 0,
    total: page.total_after_filter ?? null,
    nextCursor: page.next_cursor ?? null,
  }
}

export function parametersOf(question: Question): string {
  const { status, publisher, gpuModel, gpuCountMin, region, priceMax, isByPrice, sources } = question
  const parameters = [`status=${status ?? ''}`]
  if (publisher !== null) parameters.push(`publisher=${publisher}`)
  if (gpuModel !== null) parameters.push(`gpu_model=${gpuModel}`)
  if (gpuCountMin !== null) parameters.push(`gpu_count_min=${gpuCountMin}`)
  if (region !== null) parameters.push(`region=${region}`)
  if (sources !== null) parameters.push(`sources=${sources.join(',')}`)
  if (isByPrice) parameters.push('sort=price')
  if (priceMax !== null) parameters.push(`price_max=${wholeTokens(priceMax)}`)
  if (isByPrice || priceMax !== null) parameters.push('price_token=USDC')
  return parameters.join('&')
}

type WireItem = {
  listing_id: string
  created_at: string
  _meta: {
    registry: string
    publisher?: string
    also_in: string[]
    conflict?: true
    differs?: true
    unchecked?: string[]
    not_in?: string[]
    price?: { amount: string }
  }
}

export function readItem({ _meta: meta, ...listing }: WireItem): Shown {
  return {
    listingId: listing.listing_id,
    text: JSON.stringify(listing),
    createdAt: parseTimestamp(listing.created_at)!,
    registry: meta.registry,
    publisher: meta.publisher ?? null,
    alsoIn: meta.also_in,
    conflict: meta.conflict === true,
    differs: meta.differs === true,
    unchecked: meta.unchecked ?? [],
    notIn: meta.not_in ?? [],
    price: meta.price?.amount ?? null,
  }
}

const agent = new Agent({ keepAlive: true })

/** A POST where there is a body. */
export function send(
  url: string,
  headers: Record<string, string>,
  body: string | null = null,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent, headers, method: body === null ? 'GET' : 'POST' }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
      )
    })
    call.on('error', reject)
    call.end(body ?? undefined)
  })
}
