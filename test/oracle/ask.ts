import { Agent, get } from 'node:http'
import { type Micros, parseTimestamp } from '../../src/domain/timestamp.ts'
import type { Moment, Status, Version } from './history.ts'

export type Question = {
  /** `null` asks for every status. */
  status: Status | null
  publisher: string | null
  gpuModel: string | null
  gpuCountMin: number | null
}

/** An item of an answer. */
export type Shown = {
  /** Publisher's storefront and `listing_id`. */
  listingId: string
  storefrontUrl: string
  /** JSON of the listing without `_meta`. */
  text: string
  /** Where it is ordered. */
  position: Micros
  registry: string
  alsoIn: readonly string[]
  conflict: boolean
  differs: boolean
}

export type SourceState = {
  registry: string
  state: string
  reason?: string
  filters?: readonly string[]
  matched?: number | null
  returned?: number
  age_seconds?: number
}

/** One response with listings: a page, or a whole stream. */
export type Page = {
  begin: Moment
  end: Moment
  items: readonly Shown[]
  complete: boolean
  sources: readonly SourceState[]
  /** `null` for a stream. */
  total: number | null
  nextCursor: string | null
}

export type Answer = {
  /** The requests, for messages. */
  asked: string
  question: Question
  kind: 'page' | 'pages' | 'walk' | 'stream'
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
  /** `null` for 404. */
  shown: Shown | null
  complete: boolean
}

/** An answer that no healthy source excuses. */
export class Refused extends Error {}

export type Asking = { url: string; now: () => Moment }

export function isMatch(question: Question, { status, publisher, terms, odd }: Version): boolean {
  return (
    odd === undefined &&
    (question.status === null || status === question.status) &&
    (question.publisher === null || publisher.address === question.publisher) &&
    (question.gpuModel === null || terms.gpu_model === question.gpuModel) &&
    (question.gpuCountMin === null || terms.gpu_count >= question.gpuCountMin)
  )
}

/** A 503 is an answer without listings, judged by its sources. @throws Refused for another status */
export async function askPage(
  { url, now }: Asking,
  question: Question,
  paging: string,
  headers: Record<string, string> = {},
): Promise<Page> {
  const begin = now()
  const target = `/listings?${parametersOf(question)}${paging}`
  const { status, body } = await send(url + target, headers)
  const end = now()
  if (status === 503) return unavailable(begin, end, body)
  if (status !== 200) throw new Refused(`GET ${target} is answered ${status}: ${body.slice(0, 2000)}`)
  const answer = JSON.parse(body)
  return {
    begin,
    end,
    items: answer.items.map(readItem),
    complete: answer.complete,
    sources: answer.sources,
    total: answer.total_after_filter,
    nextCursor: answer.next_cursor ?? null,
  }
}

function unavailable(begin: Moment, end: Moment, problem: string): Page {
  const { sources } = JSON.parse(problem)
  return { begin, end, items: [], complete: false, sources, total: null, nextCursor: null }
}

export async function askStream({ url, now }: Asking, question: Question): Promise<Page> {
  const begin = now()
  const target = `/listings?${parametersOf(question)}`
  const { status, body } = await send(url + target, { accept: 'application/x-ndjson' })
  const end = now()
  if (status === 503) return unavailable(begin, end, body)
  if (status !== 200) throw new Refused(`NDJSON ${target} is answered ${status}: ${body.slice(0, 2000)}`)
  const lines = body.trimEnd().split('\n')
  const last = JSON.parse(lines.pop()!)
  if (typeof last._meta?.complete !== 'boolean') throw new Refused(`NDJSON ${target} ends early`)
  return {
    begin,
    end,
    items: lines.map((line) => readItem(JSON.parse(line))),
    complete: last._meta.complete,
    sources: last._meta.sources,
    total: null,
    nextCursor: null,
  }
}

export async function askOne({ url, now }: Asking, listingId: string): Promise<FoundOne> {
  const begin = now()
  const target = `/listings/${encodeURIComponent(listingId)}`
  const { status, body } = await send(url + target, {})
  const end = now()
  const found = { asked: `GET ${target}`, listingId, begin, end }
  if (status === 404) return { ...found, shown: null, complete: true }
  if (status !== 200) throw new Refused(`GET ${target} is answered ${status}: ${body.slice(0, 2000)}`)
  const { listing, complete = true } = JSON.parse(body)
  return { ...found, shown: readItem(listing), complete }
}

function parametersOf({ status, publisher, gpuModel, gpuCountMin }: Question): string {
  const parameters = [`status=${status ?? ''}`]
  if (publisher !== null) parameters.push(`publisher=${publisher}`)
  if (gpuModel !== null) parameters.push(`gpu_model=${gpuModel}`)
  if (gpuCountMin !== null) parameters.push(`gpu_count_min=${gpuCountMin}`)
  return parameters.join('&')
}

type WireItem = {
  listing_id: string
  storefront_url: string
  created_at: string
  _meta: { registry: string; also_in: string[]; conflict?: true; differs?: true; position?: string }
}

function readItem({ _meta: meta, ...listing }: WireItem): Shown {
  return {
    listingId: listing.listing_id,
    storefrontUrl: listing.storefront_url,
    text: JSON.stringify(listing),
    position: parseTimestamp(meta.position ?? listing.created_at)!,
    registry: meta.registry,
    alsoIn: meta.also_in,
    conflict: meta.conflict === true,
    differs: meta.differs === true,
  }
}

const agent = new Agent({ keepAlive: true })

function send(url: string, headers: Record<string, string>): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
      )
    }).on('error', reject)
  })
}
