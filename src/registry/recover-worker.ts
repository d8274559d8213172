import { recoverAddress } from './recover-address.ts'
import type { Signature } from './signature.ts'

export type RecoverRequest = { message: string; signature: Signature }

/** What a worker thread does: one signature at a time. */
export default ({ message, signature }: RecoverRequest): Promise<string | null> =>
  recoverAddress(message, signature)
