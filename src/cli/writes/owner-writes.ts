import {
  DELETED,
  type ListingChanges,
  nowSeconds,
  type Signer,
  signedDelete,
  signedUpdate,
  updateReceipt,
} from '../../client/signed-write.ts'
import type { Write } from './registry-writer.ts'

export const updateWrite = (signer: Signer, listingId: string, changes: ListingChanges): Write => ({
  listingId,
  sign: () => signedUpdate(signer, listingId, changes, nowSeconds()),
  receipt: {
    action: changes.status === 'closed' ? 'close' : 'update',
    ...updateReceipt(listingId, changes),
  },
})

export const deleteWrite = (signer: Signer, listingId: string): Write => ({
  listingId,
  sign: () => signedDelete(signer, listingId, nowSeconds()),
  receipt: { action: 'delete', ...DELETED, provesSuccess: ({ status }) => status === 404 },
})
