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

export const publish = async (
  url: string,
  seller: typeof ALICE,
  fields: Record<string, unknown>,
  { headers = {}, timestamp = unixNow() }: { headers?: Record<string, string>; timestamp?: number } = {},
): Promise<Reply> =>
  postJson(`${url}/listings`, JSON.stringify(await publishBody(seller, fields, timestamp)), headers)

export const postJson = (url: string, body: string, headers: Record<string, string> = {}): Promise<Reply> =>
  send(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } })
