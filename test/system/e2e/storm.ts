import { setTimeout } from 'node:timers/promises'
import { request } from 'undici'
import type { ListingBody } from './read-all.ts'
import { contentOf, StormSeller } from './storm-seller.ts'
import type { ServiceAddress } from './target.ts'

/** Sent and acknowledged versions of a listing, from 1. */
type Listing = {
  seller: StormSeller
  sent: number
  /** 0 before the first acknowledgement. */
  acknowledged: number
  /** Of the newest signature; the next one has to differ. */
  timestamp: number
  receipt: Receipt | null
}
type Receipt = { created_at: string; updated_at: string }

/** Versions that were acknowledged up to a moment and have to exist from then on. */
type Acknowledged = ReadonlyMap<string, { version: number; receipt: Receipt }>

export const SELLERS = 2
export const WRITERS_PER_TARGET = 4
/** Longest pause between two publishes of one writer, so that processes have time to start. */
const MOST_PAUSE_MS = 80
/** Share of publishes that update a listing. */
const SHARE_AGAIN = 0.4
/** Frequent publishes of one listing use timestamps of the future; the service accepts 300 s. */
const MOST_AHEAD = 250
const RETRY_MS = 30

/**
 * Sellers that publish new listings and versions without end, and record the answers.
 * A publish without an answer, or with 503, is repeated unchanged until it is acknowledged.
 */
export class Storm {
  readonly #listings = new Map<string, Listing>()
  readonly #sellers = Array.from({ length: SELLERS }, () => new StormSeller())
  readonly #writers: Promise<void>[] = []
  #stopped = false
  #givenUp = false
  acknowledged = 0
  /** Repeated requests. */
  repeated = 0
  /** Answers that are wrong for every request of the storm. */
  readonly faults: string[] = []

  /** Starts writers for one more address. */
  publishTo(target: ServiceAddress): void {
    for (let n = 0; n < WRITERS_PER_TARGET; n++) this.#writers.push(this.#write(target))
  }

  /** Resolves when every publish is acknowledged. */
  async calm(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#writers)
  }

  /** Drops publishes that are not acknowledged. */
  abort(): void {
    this.#stopped = true
    this.#givenUp = true
  }

  acknowledgedVersions(): Acknowledged {
    const expected = new Map<string, { version: number; receipt: Receipt }>()
    for (const [id, { acknowledged: version, receipt }] of this.#listings)
      if (receipt !== null) expected.set(id, { version, receipt })
    return expected
  }

  /** Faults of a Registry's rows, given the versions that were expected before the read. */
  faultsIn(rows: ReadonlyMap<string, ListingBody>, expected: Acknowledged): string[] {
    const missing = [...expected.keys()].filter((id) => !rows.has(id)).map((id) => `${id} is lost`)
    return [...missing, ...[...rows.values()].flatMap((row) => this.#faultsOf(row, expected))]
  }

  #faultsOf(row: ListingBody, expected: Acknowledged): string[] {
    const id = row.listing_id
    const listing = this.#listings.get(id)
    const version = Number(row.max_duration_seconds)
    if (listing === undefined || !(version >= 1 && version <= listing.sent))
      return [`${id} has version ${version}, which was never sent`]
    const faults = [...differences(row, { ...contentOf(id, version), storefront_url: listing.seller.url })]
    const due = expected.get(id)
    if (due !== undefined && version < due.version) faults.push(`version ${version} came back`)
    if (due !== undefined) {
      const receipt = version === due.version ? due.receipt : { created_at: due.receipt.created_at }
      faults.push(...differences(row, receipt))
    }
    return faults.map((fault) => `${id}, version ${version} of ${listing.sent}: ${fault}`)
  }

  async #write(target: ServiceAddress): Promise<void> {
    const own: string[] = []
    while (!this.#stopped) {
      const id = this.#next(own)
      const listing = this.#listings.get(id)!
      listing.sent++
      const receipt = await this.#publish(id, listing, target)
      if (receipt === null) return
      this.#enter(id, listing, receipt)
      target.acknowledge()
      await setTimeout(Math.random() * MOST_PAUSE_MS)
    }
  }

  /** Signs again where the signature of that second was first used for another listing, too long ago. */
  async #publish(id: string, listing: Listing, target: ServiceAddress): Promise<Receipt | null> {
    for (;;) {
      listing.timestamp = Math.max(listing.timestamp + 1, unixNow())
      const signed = await listing.seller.sign(listing.timestamp)
      const body = JSON.stringify({ ...contentOf(id, listing.sent), ...signed })
      const receipt = await this.#untilAnswered(body, target)
      if (receipt !== 'signature_reused') return receipt
    }
  }

  #next(own: string[]): string {
    const known = own[Math.floor(Math.random() * own.length)]
    const isDue = known !== undefined && this.#listings.get(known)!.timestamp < unixNow() + MOST_AHEAD
    if (isDue && Math.random() < SHARE_AGAIN) return known
    const id = `L${this.#listings.size}`
    const seller = this.#sellers[this.#listings.size % this.#sellers.length]!
    this.#listings.set(id, { seller, sent: 0, acknowledged: 0, timestamp: 0, receipt: null })
    own.push(id)
    return id
  }

  #enter(id: string, listing: Listing, receipt: Receipt): void {
    this.acknowledged++
    const before = listing.receipt
    listing.acknowledged = listing.sent
    listing.receipt = receipt
    if (before === null) return
    if (before.created_at !== receipt.created_at || before.updated_at >= receipt.updated_at)
      this.faults.push(`${id} turned from ${JSON.stringify(before)} to ${JSON.stringify(receipt)}`)
  }

  /** `null` for a final answer. */
  async #untilAnswered(body: string, target: ServiceAddress): Promise<Receipt | 'signature_reused' | null> {
    while (!this.#givenUp) {
      const url = await target.ready()
      const answer = await post(`${url}/listings`, body)
      if (answer?.status === 201) return JSON.parse(answer.text) as Receipt
      if (answer?.status === 409 && answer.text.includes(':signature_reused"')) return 'signature_reused'
      if (answer !== null && answer.status !== 503) {
        this.faults.push(`${answer.status} ${answer.text} to ${body.slice(0, 100)}`)
        return null
      }
      this.repeated++
      await setTimeout(RETRY_MS)
    }
    return null
  }
}

const differences = (row: ListingBody, expected: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(expected)
    .filter(([name, value]) => JSON.stringify(row[name]) !== JSON.stringify(value))
    .map(([name, value]) => `${name} is ${JSON.stringify(row[name])} and not ${JSON.stringify(value)}`)

/** `null` if the connection broke before the complete answer. */
async function post(url: string, json: string): Promise<{ status: number; text: string } | null> {
  try {
    const headers = { 'content-type': 'application/json' }
    const { statusCode, body } = await request(url, { method: 'POST', headers, body: json })
    return { status: statusCode, text: await body.text() }
  } catch {
    return null // the outcome is unknown
  }
}

const unixNow = (): number => Math.floor(Date.now() / 1000)
