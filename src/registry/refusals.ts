import { EntrepotError } from '../errors.ts'

export const notFound = (): EntrepotError => new EntrepotError('not_found', 'Listing not found')

export const notOwner = (): EntrepotError =>
  new EntrepotError('forbidden', 'Listing is owned by another publisher')

export const signatureReused = (): EntrepotError =>
  new EntrepotError(
    'signature_reused',
    'This signature was already used with another request; sign again with a new timestamp',
  )
