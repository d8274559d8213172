import { request } from 'undici'

export type ListingBody = Record<string, unknown> & { listing_id: string }

const PAGE = 200

/**
 * Every listing of a Registry, of any status, by id, from all pages of `GET /listings`. During publishes pages shift and
 * rows repeat, but none is skipped: the result has at least as many as there were at the beginning.
 */
export async function readAll(url: string): Promise<Map<string, ListingBody>> {
  const rows = new Map<string, ListingBody>()
  let least: number | null = null
  for (let offset = 0; ; offset += PAGE) {
    const { statusCode, body } = await request(`${url}/listings?status=&limit=${PAGE}&offset=${offset}`)
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`GET /listings answered ${statusCode}: ${text}`)
    const { items, total_after_filter: total } = JSON.parse(text) as Page
    for (const row of items) rows.set(row.listing_id, row)
    least ??= total
    if (offset + PAGE < total) continue
    if (rows.size < least) throw new Error(`${rows.size} listings on the pages, ${least} by the count`)
    return rows
  }
}

type Page = { items: ListingBody[]; total_after_filter: number }
