import { objectMembers } from '../domain/json-members.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamKind } from '../domain/upstream.ts'
import { type ListingPage, parseListingPage } from './listing-page.ts'

/** What stands for the answer of an upstream that has no such listing. */
export const NO_LISTING = Buffer.from('{"items":[],"count":0,"total_after_filter":0}')

/**
 * The answer to `GET /listings/{id}` (`protocol.md` 1.6) as a page of that one listing, checked as any other.
 * @throws SourceError `not_json` | `bad_envelope`, also for a listing of another id
 */
export const parseOneListing = (body: Buffer, listingId: string, kind: UpstreamKind): ListingPage => {
  if (body === NO_LISTING) return parseListingPage(NO_LISTING)
  const page = parseListingPage(Buffer.concat([PAGE_START, listingIn(body), PAGE_END]), kind)
  if (page.items[0]?.item.listingId === listingId) return page
  throw new SourceError('bad_envelope', 'the answer is not the listing that was asked for')
}

const PAGE_START = Buffer.from('{"items":[')
const PAGE_END = Buffer.from('],"count":1,"total_after_filter":1}')

const listingIn = (body: Buffer): Buffer => {
  const member = membersOf(body).findLast(({ name }) => name === 'listing')
  if (member === undefined) throw new SourceError('bad_envelope', 'the answer holds no listing')
  return body.subarray(member.value.start, member.value.end)
}

const membersOf = (body: Buffer): ReturnType<typeof objectMembers> => {
  try {
    return objectMembers(body)
  } catch (cause) {
    throw new SourceError('not_json', 'the answer is not JSON', { cause })
  }
}
