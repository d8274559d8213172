import { hashMessage, numberToHex, recoverAddress as recoverHashSigner } from 'viem/utils'
import type { RecoverAddress } from './verify-claim.ts'

/** By viem: about 1 ms of JavaScript per signature. */
export const recoverAddress: RecoverAddress = async (message, { r, s, yParity }) => {
  const signature = { r: numberToHex(r, { size: 32 }), s: numberToHex(s, { size: 32 }), yParity }
  try {
    return (await recoverHashSigner({ hash: hashMessage(message), signature })).toLowerCase()
  } catch {
    return null // r is not on the curve, or recovers to infinity
  }
}
