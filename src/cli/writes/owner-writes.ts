import { isListingStatus } from '../../domain/listing.ts'
import { endpointUrl, readJsonObject } from '../registries/registry-client.ts'
import type { Registry } from '../registries/select-registries.ts'
import { nowSeconds, type Wallet } from '../signing/wallet.ts'
import type { Write } from './registry-writer.ts'

type Changes = { status?: string | undefined; oracle_address?: string | null | undefined }

/** The members that are not `undefined` replace the stored ones. */
export const updateWrite = (
  registry: Registry,
  wallet: Wallet,
  listingId: string,
  changes: Changes,
): Write => ({
  listingId,
  sign: async () => {
    const timestamp = nowSeconds()
    const signature = await wallet.sign('update_listing', listingId, timestamp)
    const url = endpointUrl(registry, `/listings/${encodeURIComponent(listingId)}`)
    return {
      timestamp,
      request: { method: 'PUT', url, body: JSON.stringify({ ...changes, signature, timestamp }) },
    }
  },
  receipt: {
    action: changes.status === 'closed' ? 'close' : 'update',
    expected: '200 with the listing_id and the status',
    isReceipt: (response) => {
      const { listing_id, status } = readJsonObject(response)
      const hasStatus = changes.status === undefined ? isListingStatus(status) : status === changes.status
      return response.status === 200 && listing_id === listingId && hasStatus
    },
  },
})

export const deleteWrite = (registry: Registry, wallet: Wallet, listingId: string): Write => ({
  listingId,
  sign: async () => {
    const timestamp = nowSeconds()
    const signature = await wallet.sign('delete_listing', listingId, timestamp)
    const path = `/listings/${encodeURIComponent(listingId)}?signature=${signature}&timestamp=${timestamp}`
    return { timestamp, request: { method: 'DELETE', url: endpointUrl(registry, path) } }
  },
  receipt: {
    action: 'delete',
    expected: '204',
    isReceipt: ({ status }) => status === 204,
    provesSuccess: ({ status }) => status === 404,
  },
})
