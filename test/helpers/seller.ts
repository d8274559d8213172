import { privateKeyToAccount } from 'viem/accounts'
import { type ClaimOperation, signedMessage } from '../../src/domain/listing.ts'
import { type Reply, send } from './registry.ts'

/** Public Anvil accounts, without money. */
export const ALICE_KEY = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'
const BOB_KEY = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'
export const ALICE = privateKeyToAccount(ALICE_KEY)
export const BOB = privateKeyToAccount(BOB_KEY)
/** The environment of a command that signs. */
export const AS_ALICE = { ENTREPOT_PRIVATE_KEY: ALICE_KEY }
export const AS_BOB = { ENTREPOT_PRIVATE_KEY: BOB_KEY }

export const unixNow = (): number => Math.floor(Date.now() / 1000)

export const sign = (
  seller: typeof ALICE,
  operation: ClaimOperation,
  subject: string,
  timestamp: number,
): Promise<string> => seller.signMessage({ message: signedMessage(operation, subject, timestamp) })

/** A signed publish request; `fields` may replace any member, signed ones included. */
export async function publishBody(
  seller: typeof ALICE,
  fields: Record<string, unknown>,
  timestamp = unixNow(),
): Promise<Record<string, unknown>> {
  const identifier = seller.address.toLowerCase()
  const signature = await sign(seller, 'create_listing', identifier, timestamp)
  return { identifier, scheme: 'eip191', signature, timestamp, ...fields }
}

/** A signed publish request; one of the same id again is of a later second. */
export async function publish(
  url: string,
  seller: typeof ALICE,
  fields: Record<string, unknown>,
  { headers = {}, timestamp }: { headers?: Record<string, string>; timestamp?: number } = {},
): Promise<Reply> {
  const id = fields.listing_id
  const time = id === undefined ? unixNow() : laterThanBefore(`POST ${url} ${seller.address} ${id}`)
  return postJson(
    `${url}/listings`,
    JSON.stringify(await publishBody(seller, fields, timestamp ?? time)),
    headers,
  )
}

const lastTimes = new Map<string, number>()

/** Now, or a second later than before: a signature covers no more than who, what and when, and is used once. */
function laterThanBefore(write: string): number {
  const time = Math.max(unixNow(), (lastTimes.get(write) ?? 0) + 1)
  lastTimes.set(write, time)
  return time
}

type Signed = { seller?: typeof ALICE; timestamp?: number; headers?: Record<string, string> }

/** A signed update of a listing, by default of Alice's and signed now. */
export async function update(
  url: string,
  id: string,
  fields: Record<string, unknown>,
  {
    seller = ALICE,
    timestamp = laterThanBefore(`PUT ${url} ${seller.address} ${id}`),
    headers = {},
  }: Signed = {},
): Promise<Reply> {
  const signature = await sign(seller, 'update_listing', id, timestamp)
  return send(`${url}/listings/${encodeURIComponent(id)}`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ ...fields, signature, timestamp }),
  })
}

/** A signed deletion likewise. */
export async function remove(
  url: string,
  id: string,
  { seller = ALICE, timestamp = unixNow(), headers = {} }: Signed = {},
): Promise<Reply> {
  const signature = await sign(seller, 'delete_listing', id, timestamp)
  const query = `signature=${signature}&timestamp=${timestamp}`
  return send(`${url}/listings/${encodeURIComponent(id)}?${query}`, { method: 'DELETE', headers })
}

/** A new API key, by default of scope `read`, and the header with it. */
export async function mintKey(
  url: string,
  body: { name?: string; scope?: string; role?: string; view?: string } = {},
  adminKey = 'admin',
): Promise<{ id: number; key: string; bearer: { Authorization: string } }> {
  const headers = { Authorization: `Bearer ${adminKey}` }
  const minted = await postJson(`${url}/admin/api-keys`, JSON.stringify({ name: 'b', ...body }), headers)
  const { id, key } = minted.json() as { id: number; key: string }
  return { id, key, bearer: { Authorization: `Bearer ${key}` } }
}

export const postJson = (url: string, body: string, headers: Record<string, string> = {}): Promise<Reply> =>
  send(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } })
