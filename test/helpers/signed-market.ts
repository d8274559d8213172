import { isSameParty, type Party, partyOf } from './signed-line.ts'

/** A listing of a Registry of the signed line; `seller`: the identifier of the key that publishes it. */
export type SignedListing = { listing_id: string; seller: string; [member: string]: unknown }

export type Result = { status: number; body: object | null; ids?: readonly string[]; etag?: string }

/** With one key for ever: a rotation is asked of the service only. */
type Publisher = { publisher_id: number; storefront_url: string; principal: Party; created_at: string }
type Row = { listing_id: string; publisher: Publisher; members: Record<string, unknown> }

export const ETAG = 'f'.repeat(64)

export const FILTERS = [
  {
    name: 'region',
    path: '$.offer_resource.region',
    query_name: null,
    query_aliases: ['where'],
    op: 'in',
    value_type: 'string',
    alias_kind: null,
    on_missing: 'fail',
    indexed: false,
  },
]

/** What a Registry of the signed line stores and answers, signatures of requests aside. @param now Unix seconds */
export function createMarket(now: () => number) {
  const publishers: Publisher[] = []
  const rows: Row[] = []
  const moment = (): string => new Date(now() * 1000).toISOString().slice(0, 19)

  function publisherFor(party: Party): Publisher {
    const known = publishers.find(isOf(party))
    if (known !== undefined) return known
    const made = {
      publisher_id: publishers.length + 1,
      storefront_url: '',
      principal: party,
      created_at: moment(),
    }
    publishers.push(made)
    return made
  }

  const rowBody = ({ listing_id, publisher, members }: Row) => ({
    listing_id,
    publisher_id: publisher.publisher_id,
    publisher_principals: { identities: [publisher.principal] },
    ...members,
  })

  function publish(party: Party, body: Record<string, unknown>): Result {
    const { listing_id: id } = body
    if (typeof id !== 'string' || id === '') return refused(400, 'listing_id is required')
    const { status } = body
    if (status !== undefined && status !== null && !STATUSES.has(status))
      return refused(400, `Invalid status: ${status}`)
    const stored = rows.find(({ listing_id }) => listing_id === id)
    const publisher = publisherFor(party)
    if (stored !== undefined && stored.publisher !== publisher)
      return refused(403, 'Listing is owned by another publisher')
    const given = Object.entries(body).filter(([name, value]) => name in DEFAULTS && value !== null)
    const created = { ...DEFAULTS, created_at: moment() }
    const members = { ...(stored?.members ?? created), ...Object.fromEntries(given), updated_at: moment() }
    if (typeof body.storefront_url === 'string') publisher.storefront_url = body.storefront_url
    const row = { listing_id: id, publisher, members }
    if (stored === undefined) rows.unshift(row)
    else rows[rows.indexOf(stored)] = row
    const { status: stands, created_at, updated_at } = members as Record<string, unknown>
    const { publisher_id, publisher_principals } = rowBody(row)
    const receipt = { listing_id: id, publisher_id, publisher_principals }
    return { status: 201, body: { ...receipt, status: stands, created_at, updated_at } }
  }

  /** Of an update and a delete. */
  function owned(party: Party, id: string): Row | Result {
    const row = rows.find(({ listing_id }) => listing_id === id)
    if (row === undefined) return refused(404, 'Listing not found')
    return isOf(party)(row.publisher) ? row : refused(403, 'Publisher principal does not own listing')
  }

  function update(party: Party, id: string, { status, oracle_address }: Record<string, unknown>): Result {
    const row = owned(party, id)
    if ('status' in row) return row
    if (status !== undefined && !STATUSES.has(status)) return refused(400, `Invalid status: ${status}`)
    row.members = {
      ...row.members,
      ...(status !== undefined && { status }),
      ...(oracle_address !== undefined && { oracle_address }),
      updated_at: moment(),
    }
    const { status: current, updated_at } = row.members
    return { status: 200, body: { listing_id: id, status: current, updated_at } }
  }

  function remove(party: Party, id: string): Result {
    const row = owned(party, id)
    if ('status' in row) return row
    rows.splice(rows.indexOf(row), 1)
    return { status: 204, body: null }
  }

  function page(query: URLSearchParams, ifMatch: string | undefined): Result {
    if (ifMatch !== undefined && ifMatch !== ETAG)
      return refused(412, { error: 'filter-spec etag mismatch', current_etag: ETAG })
    const [scheme, identifier] = [query.get('publisher_scheme'), query.get('publisher_identifier')]
    if ((scheme === null) !== (identifier === null))
      return refused(400, 'publisher_scheme and publisher_identifier are required together')
    const status = query.get('status') ?? ''
    if (status !== '' && !STATUSES.has(status)) return refused(400, `Invalid status: ${status}`)
    const party = scheme === null ? null : partyOf(scheme, identifier)
    if (scheme !== null && party === null) return refused(400, 'Invalid publisher principal')
    const unknown = [...query.keys()].find((name) => !PAGE_PARAMETERS.has(name) && name !== 'region')
    if (unknown !== undefined) return refused(400, `unknown filter: '${unknown}'`)
    const isWanted = ({ publisher, members }: Row): boolean =>
      (status === '' || members.status === status) &&
      (party === null || isOf(party)(publisher)) &&
      [null, (members.offer_resource as { region?: string }).region].includes(query.get('region'))
    const [limit, offset] = [Number(query.get('limit') ?? 50), Number(query.get('offset') ?? 0)]
    const matches = rows.filter(isWanted)
    const items = matches.slice(offset, offset + limit).map(rowBody)
    const body = { items, count: items.length, total_after_filter: matches.length }
    return { status: 200, body, ids: items.map(({ listing_id }) => listing_id) }
  }

  function single(id: string): Result {
    const row = rows.find(({ listing_id }) => listing_id === id)
    return row === undefined
      ? refused(404, 'Listing not found')
      : { status: 200, body: { listing: rowBody(row) }, ids: [id] }
  }

  const publisherBody = ({ principal, ...publisher }: Publisher) => ({
    ...publisher,
    identities: [{ principal, status: 'primary', active_until: null, retired_at: null, disabled_at: null }],
  })

  function directory(query: URLSearchParams): Result {
    const [scheme, identifier] = [query.get('scheme'), query.get('identifier')]
    if ((scheme === null) !== (identifier === null))
      return refused(400, 'scheme and identifier are required together')
    const party = scheme === null ? null : partyOf(scheme, identifier)
    if (scheme !== null && party === null) return refused(400, 'Invalid publisher principal')
    const named = publishers.filter((one) => party === null || isOf(party)(one))
    return { status: 200, body: { items: named.map(publisherBody) } }
  }

  function publisher(id: number): Result {
    const found = publishers.find(({ publisher_id }) => publisher_id === id)
    return found === undefined
      ? refused(404, 'Publisher not found')
      : { status: 200, body: publisherBody(found) }
  }

  /** Sets what is stored, in that order. */
  function seed(items: readonly SignedListing[]): void {
    rows.length = 0
    for (const { seller, listing_id, ...members } of items) {
      const publisher = publisherFor({
        scheme: seller.startsWith('0x') ? 'eip191' : 'ed25519',
        identifier: seller,
      })
      publisher.storefront_url = 'http://storefront.example/'
      rows.push({ listing_id, publisher, members: { ...DEFAULTS, ...SEEDED, ...members } })
    }
  }

  return {
    publish,
    update,
    remove,
    page,
    single,
    directory,
    publisher,
    seed,
    stats: (): Result => ({ status: 200, body: { listings: rows.length, publishers: publishers.length } }),
  }
}

const STATUSES: ReadonlySet<unknown> = new Set(['open', 'closed', 'expired'])
const PAGE_PARAMETERS = new Set(['status', 'limit', 'offset', 'publisher_scheme', 'publisher_identifier'])

const DEFAULTS: Record<string, unknown> = {
  storefront_url: '',
  offer_resource: {},
  accepted_escrows: [],
  settlement_options: [],
  demands: [],
  max_duration_seconds: null,
  oracle_address: null,
  status: 'open',
}

const SEEDED = {
  storefront_url: 'http://storefront.example/',
  offer_resource: { gpu_model: 'H200', region: 'Reykjavik, IS' },
  created_at: '2026-11-20T00:00:00',
  updated_at: '2026-11-20T00:00:00',
}

const isOf =
  (party: Party) =>
  ({ principal }: { principal: Party }): boolean =>
    isSameParty(principal, party)

export const refused = (status: number, detail: unknown): Result => ({ status, body: { detail } })
