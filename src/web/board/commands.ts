import { safeText } from '../../domain/safe-text.ts'
import { type OpenListing, type QueryParameter, queryString } from './view.ts'

/** A placeholder: commands never hold the reader's key. */
const KEY = '"Authorization: Bearer $ENTREPOT_KEY"'

/** Percent-encoded: only its quotes mean anything to a shell. */
export const curlListings = (base: string, query: readonly QueryParameter[], hasKey: boolean): string =>
  curl(`${base}listings${query.length === 0 ? '' : `?${queryString(query)}`}`, hasKey)

export const curlListing = (base: string, listing: OpenListing, hasKey: boolean): string =>
  curl(base + listingAddress(listing), hasKey)

export const listingAddress = ({ id, registry }: OpenListing): string =>
  `listings/${encodeURIComponent(id)}${registry === null ? '' : `?${queryString([['registry', sourceOf(registry)]])}`}`

const curl = (url: string, hasKey: boolean): string =>
  `curl -g ${hasKey ? `-H ${KEY} ` : ''}${shellQuote(url)}`

/** The gateway's own source: `eu` for `eu/curated`. */
const sourceOf = (registry: string): string => registry.split('/', 1)[0]!

/** `null` if a value holds characters that act on a terminal when pasted; `curl` has them encoded. */
export function listingsCommandLine(base: string, query: readonly QueryParameter[]): string | null {
  const options = query
    .filter(([name]) => !GATEWAY_ONLY.has(name))
    .map(([name, value]) => option(name, value))
  return pasteable(['entrepot listings', `-r ${shellQuote(registryUrl(base))}`, ...options].join(' '))
}

export const listingCommandLine = (
  base: string,
  { id }: OpenListing,
  name: 'listing' | 'review' = 'listing',
): string | null => pasteable(`entrepot ${name} -r ${shellQuote(registryUrl(base))} -- ${shellQuote(id)}`)

/** The same question for an agent's tool. */
export function agentCall(query: readonly QueryParameter[]): string {
  const filters: [string, unknown][] = []
  const others: [string, unknown][] = []
  for (const [name, value] of query)
    if (name === 'status') others.push([name, value || 'all'])
    else if (name === 'sources') others.push([name, value.split(',')])
    else if (name === 'testnet') others.push([name, value === 'true'])
    else if (name === 'publisher' || PRICE_FLAGS.has(name)) others.push([name, value])
    else if (!GATEWAY_ONLY.has(name)) filters.push([name, value])
  return `search_listings ${JSON.stringify({ filters: Object.fromEntries(filters), ...Object.fromEntries(others) })}`
}

const pasteable = (command: string): string | null => (safeText(command) === command ? command : null)

/** The command line has its own options for these. */
const GATEWAY_ONLY = new Set(['require', 'timeout_ms', 'sources'])

const PRICE_FLAGS: ReadonlyMap<string, string> = new Map([
  ['sort', 'sort'],
  ['price_token', 'token'],
  ['price_max', 'max-price'],
  ['price_per', 'per'],
])

function option(name: string, value: string): string {
  const flag = PRICE_FLAGS.get(name)
  if (flag !== undefined) return `--${flag}=${shellQuote(value)}`
  if (name === 'status') return `--status=${shellQuote(value === '' ? 'all' : value)}`
  if (name === 'publisher') return `--publisher=${shellQuote(value)}`
  return `--filter=${shellQuote(`${name}=${value}`)}`
}

/** Without a trailing slash, as in most configurations: a key is sent only to exactly the same URL. */
export const registryUrl = (base: string): string => base.replace(/\/$/, '')

/** One word for a POSIX shell (Shell Command Language, 2.2.2): in single quotes nothing has a meaning. */
export const shellQuote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
