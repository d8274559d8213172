import { listen } from './listen.ts'
import type { Teardown } from './registry.ts'

export type FeedAnswer = { status?: number; headers?: Record<string, string>; body: unknown }

export const ALICES = '0x00000000000000000000000000000000000000aa'

export const feedAnswer = (position: string, changes: readonly object[], more: object = {}): FeedAnswer => ({
  body: { changes, position, more: false, complete: true, sources: [], ...more },
})

export const listingChange = (listing: { listing_id: string }): object => ({
  type: 'listing',
  key: `${ALICES}/${listing.listing_id}`,
  listing_id: listing.listing_id,
  publisher: ALICES,
  listing,
})

export const removedChange = (listing_id: string): object => ({
  type: 'removed',
  key: `${ALICES}/${listing_id}`,
  listing_id,
  publisher: ALICES,
})

/**
 * A Registry that answers `GET /changes` with these answers in turn, and other paths with `others`. `asked`: each path of the feed, with
 * the wait that it allows.
 */
export async function startScriptedFeed(
  t: Teardown,
  answers: readonly FeedAnswer[],
  others: Readonly<Record<string, unknown>> = {},
): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = []
  const url = await listen(t, (request, response) => {
    const { pathname } = new URL(request.url!, 'http://feed.example')
    const isFeed = pathname === '/changes'
    const {
      status = 200,
      headers = {},
      body,
    } = isFeed ? answers[asked.length]! : { body: others[pathname] ?? {} }
    if (isFeed) asked.push([request.url, request.headers.prefer].filter(Boolean).join(' '))
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  })
  return { url, asked }
}
