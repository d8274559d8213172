import type { Micros } from './timestamp.ts'

/** What an operator leaves out of every answer, and refuses at the own Registry. */
export type Block = NewBlock & {
  id: number
  createdAt: Micros
  /** When it was undone, or its time was up; `null`: it holds. */
  endedAt: Micros | null
}

export type NewBlock = {
  subject: BlockSubject
  /** The only source that it applies to; `null`: every source, the own Registry included. */
  source: string | null
  reason: string
  /** Name of the operator's key. */
  by: string
  /** From here on it does not hold, by the store's clock; `null`: until it is undone. */
  until: Micros | null
}

export type BlockSubject =
  | { kind: 'publisher'; publisher: string }
  /** An http or https URL without query: also everything below its path. */
  | { kind: 'storefront'; url: string }
  /** A takedown. */
  | { kind: 'listing'; publisher: string; listingId: string }

type Copy = { listingId: string; publisher: string | null; storefrontUrl: string | null }

/** Whether the block is about that copy of a listing, whatever its source. */
export function isBlocking({ subject }: Pick<Block, 'subject'>, copy: Copy): boolean {
  switch (subject.kind) {
    case 'publisher':
      return copy.publisher === subject.publisher
    case 'storefront':
      return copy.storefrontUrl !== null && isWithin(copy.storefrontUrl, subject.url)
    case 'listing':
      return copy.publisher === subject.publisher && copy.listingId === subject.listingId
  }
}

/** By scheme, host and whole segments of the path, whatever their spelling. */
function isWithin(storefront: string, blocked: string): boolean {
  const [url, limit] = [URL.parse(storefront), URL.parse(blocked)]
  if (url === null || limit === null || url.origin !== limit.origin) return false
  const path = withSlash(url.pathname)
  return path.startsWith(withSlash(limit.pathname))
}

const withSlash = (path: string): string => (path.endsWith('/') ? path : `${path}/`)

const PUBLISHER = /^(?:0x[0-9a-f]{40}|ed25519:[\w-]{43})$/

/** `0x…`, `ed25519:…`, the URL of a storefront, or `PUBLISHER/LISTING_ID`; `null` for any other text. */
export function readSubject(text: string): BlockSubject | null {
  const slash = text.indexOf('/')
  const publisher = publisherIn(slash === -1 ? text : text.slice(0, slash))
  if (publisher !== null) {
    const listingId = text.slice(slash + 1)
    if (slash === -1) return { kind: 'publisher', publisher }
    return listingId === '' ? null : { kind: 'listing', publisher, listingId }
  }
  const url = URL.parse(text)
  const isStorefront = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  return isStorefront && url.username === '' ? { kind: 'storefront', url: url.href } : null
}

/** An address in any case; a key of the signed line exactly. */
function publisherIn(text: string): string | null {
  const lower = /^0x/i.test(text) ? text.toLowerCase() : text
  return PUBLISHER.test(lower) ? lower : null
}

export function subjectText(subject: BlockSubject): string {
  if (subject.kind === 'publisher') return subject.publisher
  return subject.kind === 'storefront' ? subject.url : `${subject.publisher}/${subject.listingId}`
}
