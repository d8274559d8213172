import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { Pool } from 'undici'

/**
 * A minimal aggregator: it sends the query to every upstream, parses, removes duplicates, sorts, and answers. It checks
 * nothing. Arguments: the upstreams' base URLs.
 */
const upstreams = process.argv.slice(2).map((base) => {
  const { origin, pathname } = new URL(base)
  return { pool: new Pool(origin, { connections: 8 }), path: `${pathname}/listings` }
})

const app = new Koa()
app.use(async (context) => {
  const limit = Number(context.query.limit ?? 50)
  const pages = await Promise.all(
    upstreams.map(async ({ pool, path }) => {
      const { body } = await pool.request({ path: `${path}?${context.querystring}`, method: 'GET' })
      return JSON.parse(await body.text()) as { items: Listing[]; total_after_filter: number }
    }),
  )
  const listings = new Map(pages.flatMap(({ items }) => items).map((item) => [item.listing_id, item]))
  const items = [...listings.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : -1)).slice(0, limit)
  const total = pages.reduce((sum, page) => sum + page.total_after_filter, 0)
  context.type = 'application/json'
  context.body = JSON.stringify({ items, count: items.length, total_after_filter: total })
})

type Listing = { listing_id: string; created_at: string }

const server = app.listen(0, '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit())
