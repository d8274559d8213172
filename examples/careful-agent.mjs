/**
 * An agent looks for the cheapest machine and acts only on a complete answer: the cheapest machine of some Registries may
 * not be the cheapest of the market.
 *
 *     node examples/careful-agent.mjs http://127.0.0.1:8080 gpu=H200
 *
 * READ_KEY in the environment is the reader's key. Makes up to five requests, ten seconds apart. Exits with 1 if no answer
 * was complete, and with 2 if no listing has a price in TOKEN.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** Amounts of different tokens cannot be compared. */
const TOKEN = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
const ATTEMPTS = 5
const WAIT_MS = 10_000

const [gateway = 'http://127.0.0.1:8080', filters = ''] = process.argv.slice(2)
const authorization = process.env.READ_KEY ? { Authorization: `Bearer ${process.env.READ_KEY}` } : {}

const listings = await readUntilComplete()
if (listings === null) process.exitCode = 1
else if (!act(listings)) process.exitCode = 2

async function readUntilComplete() {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    if (attempt > 1) await sleep(WAIT_MS)
    const { complete, listings, missing } = await readListings()
    if (complete) return listings
    console.error(`attempt ${attempt}: no action, since these sources are missing: ${missing.join(', ')}`)
  }
  return null
}

/** All matches as a stream. The last line says whether it is complete; an interrupted stream has no such line. */
async function readListings() {
  const response = await fetch(`${gateway}/listings?${filters}`, {
    headers: { ...authorization, Accept: 'application/x-ndjson' },
  })
  const text = await response.text().catch(() => '')
  if (!response.ok) return { complete: false, listings: [], missing: [`${response.status} ${text}`] }
  const lines = text.split('\n').filter((line) => line !== '')
  const last = lines.length > 0 && text.endsWith('\n') ? JSON.parse(lines.pop())._meta : {}
  const missing = (last.sources ?? [])
    .filter(({ state }) => state !== 'loaded' && state !== 'stale')
    .map(({ registry, reason, state }) => `${registry} (${reason ?? state})`)
  return { complete: last.complete === true, listings: lines.map((line) => JSON.parse(line)), missing }
}

/** A real agent would negotiate with the storefront here. Amounts are integers of any size: BigInt. */
function act(listings) {
  const [best] = listings
    // A price far below the median of the model is bait, or a mistake.
    .filter(({ _meta }) => _meta?.price?.outlier !== true)
    .map((listing) => ({ listing, price: pricePerHour(listing) }))
    .filter(({ price }) => price !== null)
    .sort((a, b) => (a.price < b.price ? -1 : a.price > b.price ? 1 : 0))
  if (best === undefined) return false
  const { listing_id, storefront_url } = best.listing
  console.log(`cheapest of ${listings.length}: ${listing_id} at ${storefront_url} for ${best.price} per hour`)
  return true
}

/** A seller may publish anything in a listing, and must not end the agent with it. */
function pricePerHour({ accepted_escrows }) {
  for (const escrow of listOf(accepted_escrows)) {
    const rate = listOf(escrow?.rates).find((one) => one?.per === 'hour' && /^[1-9]\d*$/.test(one.value))
    const token = String(escrow?.literal_fields?.token).toLowerCase()
    if (token === TOKEN && rate !== undefined) return BigInt(rate.value)
  }
  return null
}

function listOf(value) {
  return Array.isArray(value) ? value : []
}
