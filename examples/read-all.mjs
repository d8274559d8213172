/**
 * A buyer reads all matching open listings, page by page. A later page may repeat a listing; repeats are dropped.
 *
 *     node examples/read-all.mjs http://127.0.0.1:8080 'gpu=H200&gpu_count_min=4'
 *
 * READ_KEY in the environment is the reader's key. Prints one line for each listing, and exits with 1 if some are missing.
 */
const [gateway = 'http://127.0.0.1:8080', filters = ''] = process.argv.slice(2)
const headers = process.env.READ_KEY ? { Authorization: `Bearer ${process.env.READ_KEY}` } : {}

const seen = new Set()
let isComplete = true
let cursor = null
do {
  const page = await readPage(cursor)
  for (const listing of page.items)
    if (isNew(listing)) console.log(listing.listing_id, listing._meta.registry, listing.storefront_url)
  isComplete &&= page.complete
  cursor = page.next_cursor ?? null
} while (cursor !== null)

if (!isComplete) {
  console.error('some listings are missing: a source did not answer')
  process.exitCode = 1
}

async function readPage(cursor) {
  const query = new URLSearchParams(filters)
  query.set('limit', '200')
  if (cursor !== null) query.set('cursor', cursor)
  const response = await fetch(`${gateway}/listings?${query}`, { headers })
  const page = await response.json()
  if (!response.ok) throw new Error(`${response.status}: ${page.detail}`)
  // A Registry without upstreams has no cursors, so the loop would end after the first page.
  if (page.complete === undefined) throw new Error('this is a plain Registry: read its pages by offset')
  return page
}

/** Two copies are one listing if id and publisher agree, or the storefront where a publisher is unknown. */
function isNew({ listing_id, storefront_url, _meta: { publisher } }) {
  const name = (kind, value) => JSON.stringify([listing_id, kind, value])
  const own = publisher ? name('publisher', publisher) : name('unknown publisher at', storefront_url)
  const isRepeat =
    seen.has(own) || seen.has(name(publisher ? 'unknown publisher at' : 'storefront', storefront_url))
  seen.add(own).add(name('storefront', storefront_url))
  return !isRepeat
}
