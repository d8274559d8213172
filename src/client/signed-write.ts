import { type ClaimOperation, signedMessage } from '../domain/listing.ts'
import { parseObject } from '../json/value.ts'
import type { RawAnswer, Signer } from './request.ts'

export type ListingChanges = {
  status?: 'open' | 'closed' | 'expired' | undefined
  oracle_address?: string | null | undefined
}

export type SignedWrite = {
  /** Unix seconds. */
  timestamp: number
  method: 'POST' | 'PUT' | 'DELETE'
  path: string
  body?: string
}

/** 65 bytes in hex without `0x`, as deployed clients send it. */
export async function signOperation(
  signer: Signer,
  operation: ClaimOperation,
  subject: string,
  timestamp: number,
): Promise<string> {
  const signature = await signer.signMessage({ message: signedMessage(operation, subject, timestamp) })
  return signature.replace(/^0x/, '')
}

type PublishClaim = { scheme: 'eip191'; identifier: string; timestamp: number; signature: string }

/** Of each signer the latest: all its publishes of a second have one signature. */
const claims = new WeakMap<Signer, { timestamp: number; claim: Promise<PublishClaim> }>()

/** Members of a publish. A Registry accepts them for one storefront only. */
export function publishClaim(signer: Signer, timestamp: number): Promise<PublishClaim> {
  const latest = claims.get(signer)
  if (latest?.timestamp === timestamp) return latest.claim
  const identifier = signer.address.toLowerCase()
  const claim = signOperation(signer, 'create_listing', identifier, timestamp).then(
    (signature) => ({ scheme: 'eip191', identifier, timestamp, signature }) as const,
  )
  claims.set(signer, { timestamp, claim })
  return claim
}

/** The success that only a Registry answers with. */
export type Receipt = {
  /** What a Registry answers, for messages. */
  expected: string
  isReceipt: (answer: RawAnswer) => boolean
}

/** A write of one listing, and its receipt. */
export type ListingWrite = Receipt & {
  listingId: string
  /** @param timestamp Unix seconds */
  sign: (timestamp: number) => Promise<SignedWrite>
}

/** Signs what a request of the plain line says; `null` on the signed line, where the request is signed as a whole. */
type ContentSigner = Signer | null

/** @param listing JSON text of an object with this `listing_id` */
export const publishWrite = (signer: ContentSigner, listingId: string, listing: string): ListingWrite => ({
  listingId,
  sign: async (timestamp) => {
    if (signer === null) return { timestamp, method: 'POST', path: 'listings', body: listing }
    const claim = await publishClaim(signer, timestamp)
    const body = `${listing.slice(0, -1)},${JSON.stringify(claim).slice(1)}`
    return { timestamp, method: 'POST', path: 'listings', body }
  },
  expected: '201 with the listing_id',
  isReceipt: ({ status, body }) => status === 201 && membersOf(body).listing_id === listingId,
})

/** The members that are not `undefined` replace the stored ones. */
export const updateWrite = (
  signer: ContentSigner,
  listingId: string,
  changes: ListingChanges,
): ListingWrite => ({
  listingId,
  sign: async (timestamp) => {
    const signature = signer && (await signOperation(signer, 'update_listing', listingId, timestamp))
    const body = JSON.stringify({ ...changes, ...(signature !== null && { signature, timestamp }) })
    return { timestamp, method: 'PUT', path: listingPath(listingId), body }
  },
  expected: '200 with the listing_id and the status',
  isReceipt: ({ status: code, body }) => {
    const { listing_id, status } = membersOf(body)
    const hasStatus = changes.status === undefined ? typeof status === 'string' : status === changes.status
    return code === 200 && listing_id === listingId && hasStatus
  },
})

export const deleteWrite = (signer: ContentSigner, listingId: string): ListingWrite => ({
  listingId,
  sign: async (timestamp) => {
    const signature = signer && (await signOperation(signer, 'delete_listing', listingId, timestamp))
    const query = signature === null ? '' : `?signature=${signature}&timestamp=${timestamp}`
    return { timestamp, method: 'DELETE', path: `${listingPath(listingId)}${query}` }
  },
  ...DELETED,
})

export const DELETED: Receipt = { expected: '204', isReceipt: ({ status }) => status === 204 }

export const listingPath = (listingId: string): string => `listings/${encodeURIComponent(listingId)}`

/** Unix time: Registries accept 300 s around theirs. */
export const nowSeconds = (): number => Math.floor(Date.now() / 1000)

const membersOf = (body: Uint8Array) => parseObject(new TextDecoder().decode(body))

export const notReceipt = (
  { status }: Pick<RawAnswer, 'status'>,
  { expected }: Pick<Receipt, 'expected'>,
): string => `HTTP ${status}: not a Registry's answer, which is ${expected}`
