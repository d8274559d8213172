import { type Intent, isProof, isSameParty, type Party, partyOf, rotationMessage } from './signed-line.ts'

/** A listing of a Registry of the signed line; `seller`: the identifier of the key that publishes it. */
export type SignedListing = { listing_id: string; seller: string; [member: string]: unknown }

export type Result = { status: number; body: object | null; ids?: readonly string[]; etag?: string }

type Identity = {
  principal: Party
  status: 'primary' | 'overlap' | 'retired' | 'disabled'
  active_until: string | null
  retired_at: string | null
  disabled_at: string | null
}
type Publisher = {
  publisher_id: number
  storefront_url: string
  identities: Identity[]
  created_at: string
}
type Row = { listing_id: string; publisher: Publisher; members: Record<string, unknown> }
type Rotation = { intent: Intent; row: Record<string, unknown> & { status: string; retire_at: string } }

const AUTHORITY = 'registry-a'
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
  const rotations = new Map<string, Rotation>()
  const moment = (seconds = now()): string => new Date(seconds * 1000).toISOString().slice(0, 19)

  function publisherFor(party: Party): Publisher {
    const known = publishers.find(({ identities }) => identities.some(isOf(party)))
    if (known !== undefined) return known
    const made = {
      publisher_id: publishers.length + 1,
      storefront_url: '',
      identities: [identityRow(party)],
      created_at: moment(),
    }
    publishers.push(made)
    return made
  }

  /** An overlap that ran out is retired. */
  function statusOf({ status, active_until }: Identity): Identity['status'] {
    const isOver = status === 'overlap' && active_until !== null && active_until <= moment()
    return isOver ? 'retired' : status
  }

  const activeOf = ({ identities }: Publisher): Party[] =>
    identities
      .filter((one) => ['primary', 'overlap'].includes(statusOf(one)))
      .sort((a, b) => Number(statusOf(b) === 'primary') - Number(statusOf(a) === 'primary'))
      .map(({ principal }) => principal)

  const rowBody = ({ listing_id, publisher, members }: Row) => ({
    listing_id,
    publisher_id: publisher.publisher_id,
    publisher_principals: { identities: activeOf(publisher) },
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
    if (!activeOf(publisher).some((one) => isSameParty(one, party)))
      return refused(403, 'Publisher principal is retired or disabled')
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
    return activeOf(row.publisher).some((one) => isSameParty(one, party))
      ? row
      : refused(403, 'Publisher principal does not own listing')
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
      (party === null || publisher.identities.some(isOf(party))) &&
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

  const publisherBody = (publisher: Publisher) => ({
    ...publisher,
    identities: publisher.identities.map((one) => ({ ...one, status: statusOf(one) })),
  })

  function directory(query: URLSearchParams): Result {
    const [scheme, identifier] = [query.get('scheme'), query.get('identifier')]
    if ((scheme === null) !== (identifier === null))
      return refused(400, 'scheme and identifier are required together')
    const party = scheme === null ? null : partyOf(scheme, identifier)
    if (scheme !== null && party === null) return refused(400, 'Invalid publisher principal')
    const named = publishers.filter(({ identities }) => party === null || identities.some(isOf(party)))
    return { status: 200, body: { items: named.map(publisherBody) } }
  }

  function publisher(id: number): Result {
    const found = publishers.find(({ publisher_id }) => publisher_id === id)
    return found === undefined
      ? refused(404, 'Publisher not found')
      : { status: 200, body: publisherBody(found) }
  }

  async function rotate(party: Party, id: number, body: RotationBody): Promise<Result> {
    const found = publishers.find(({ publisher_id }) => publisher_id === id)
    if (found === undefined) return refused(404, 'Publisher not found')
    const { intent, current_proof: mine, replacement_proof: theirs } = body
    const current = partyOf(intent?.current?.scheme, intent?.current?.identifier)
    const next = partyOf(intent?.replacement?.scheme, intent?.replacement?.identifier)
    if (current === null || next === null || !mine || !theirs)
      return refused(400, 'Malformed rotation request')
    if (!isSameParty(party, current)) return refused(403, 'Rotation caller is not current principal')
    if (intent.authority !== AUTHORITY || intent.subject !== `publisher:${id}`)
      return refused(400, 'Rotation authority or subject mismatch')
    if (!(intent.overlap_seconds <= 86_400)) return refused(400, 'Rotation overlap exceeds registry bound')
    const message = rotationMessage(intent)
    const isProven =
      intent.expires_at >= now() &&
      (await isProof(current, message, mine.value)) &&
      (await isProof(next, message, theirs.value))
    if (!isProven) return refused(401, 'Invalid or expired rotation proofs')
    const recorded = rotations.get(`${id}:${intent.nonce}`)
    if (recorded !== undefined)
      return JSON.stringify(recorded.intent) === JSON.stringify(intent)
        ? { status: 200, body: recorded.row }
        : refused(409, 'Rotation nonce intent mismatch')
    if (found.identities.some((one) => statusOf(one) === 'overlap'))
      return refused(409, 'Publisher already has an active identity overlap')
    const old = found.identities.find(isOf(current))
    if (old?.status !== 'primary') return refused(403, 'Current principal is not primary')
    if (publishers.some(({ identities }) => identities.some(isOf(next))))
      return refused(409, 'Replacement principal is already bound')
    const retireAt = moment(now() + intent.overlap_seconds)
    Object.assign(old, { status: 'overlap', active_until: retireAt })
    found.identities.push(identityRow(next))
    const { nonce, overlap_seconds, expires_at } = intent
    const row = {
      publisher_id: id,
      nonce,
      current,
      replacement: next,
      overlap_seconds,
      expires_at,
      status: 'overlap',
      applied_at: moment(),
      retire_at: retireAt,
      retired_at: null,
    }
    rotations.set(`${id}:${nonce}`, { intent, row })
    return { status: 200, body: row }
  }

  function rotation(id: number, nonce: string): Result {
    const found = rotations.get(`${id}:${nonce}`)
    if (found === undefined) return refused(404, 'Publisher rotation not found')
    const isOver = found.row.status === 'overlap' && found.row.retire_at <= moment()
    return { status: 200, body: isOver ? { ...found.row, status: 'retired' } : found.row }
  }

  function retire(party: Party, id: number, nonce: string): Result {
    const found = rotations.get(`${id}:${nonce}`)
    if (found === undefined) return refused(404, 'Publisher rotation not found')
    if (!isSameParty(found.intent.replacement, party))
      return refused(403, 'Only replacement principal may retire')
    const old = publishers[id - 1]!.identities.find(isOf(found.intent.current))!
    if (old.status !== 'retired') Object.assign(old, { status: 'retired', retired_at: moment() })
    Object.assign(found.row, { status: 'retired', retired_at: old.retired_at })
    return { status: 200, body: found.row }
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
    rotate,
    rotation,
    retire,
    seed,
    stats: (): Result => ({ status: 200, body: { listings: rows.length, publishers: publishers.length } }),
  }
}

type RotationBody = { intent: Intent; current_proof: { value: string }; replacement_proof: { value: string } }

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

const identityRow = (principal: Party): Identity => ({
  principal,
  status: 'primary',
  active_until: null,
  retired_at: null,
  disabled_at: null,
})

const isOf =
  (party: Party) =>
  ({ principal }: { principal: Party }): boolean =>
    isSameParty(principal, party)

export const refused = (status: number, detail: unknown): Result => ({ status, body: { detail } })
