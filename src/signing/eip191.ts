import { hash } from 'node:crypto'
import { keccak256 } from 'ox/Hash'
import { pointFromScalar, recover, signRecoverable } from 'tiny-secp256k1'

/** 32-byte numbers, and the parity that picks the public key. */
type Signature = { r: bigint; s: bigint; yParity: 0 | 1 }

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** Reads 65 bytes r‖s‖v in hex, with or without `0x`, blanks allowed between bytes; `null` for anything else. */
export function readSignature(value: string): Signature | null {
  const hex = value.replace(/^0x/, '').replace(/\s+/g, '')
  if (!/^[0-9a-f]{130}$/i.test(hex)) return null
  const r = BigInt(`0x${hex.slice(0, 64)}`)
  const s = BigInt(`0x${hex.slice(64, 128)}`)
  const yParity = parity(Number.parseInt(hex.slice(128), 16))
  const inRange = r > 0n && r < CURVE_ORDER && s > 0n && s < CURVE_ORDER
  return yParity === null || !inRange ? null : { r, s, yParity }
}

/** v is 27 or 28, 0 or 1, or at least 35 as in EIP-155. */
function parity(v: number): 0 | 1 | null {
  if (v === 0 || v === 27) return 0
  if (v === 1 || v === 28) return 1
  return v >= 35 ? (((v + 1) % 2) as 0 | 1) : null
}

/**
 * Gives the lower-cased signer of an EIP-191 personal message; `null` if no key fits. libsecp256k1 as WebAssembly takes
 * about 0.3 ms, so requests check their signatures themselves.
 */
export function recoverAddress(message: string | Uint8Array, { r, s, yParity }: Signature): string | null {
  const signature = Buffer.from(`${toHex(r)}${toHex(s)}`, 'hex')
  try {
    const publicKey = recover(hashOf(message), signature, yParity, false)
    return publicKey && addressOf(publicKey)
  } catch {
    return null // r is not on the curve
  }
}

/** Signs a message as 65 bytes r‖s‖v in hex, without `0x`; v is 27 or 28. */
export function signMessage(message: Uint8Array, key: Uint8Array): string {
  const { signature, recoveryId } = signRecoverable(hashOf(message), key)
  return `${Buffer.from(signature).toString('hex')}${(27 + recoveryId).toString(16)}`
}

/** The lower-cased address of a private key of 32 bytes. @throws TypeError for a number that is no key */
export function addressOfKey(key: Uint8Array): string {
  const publicKey = pointFromScalar(key, false)
  if (publicKey === null) throw new TypeError('not a private key')
  return addressOf(publicKey)
}

/** Of a personal message of EIP-191, version 0x45: its length is that of its bytes. */
function hashOf(message: string | Uint8Array): Uint8Array {
  const bytes = Buffer.from(message)
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${bytes.length}`)
  return keccak256(Buffer.concat([prefix, bytes]), { as: 'Bytes' })
}

/** The first byte names the format of the key. */
const addressOf = (publicKey: Uint8Array): string =>
  `0x${keccak256(publicKey.subarray(1), { as: 'Hex' }).slice(-40)}`

const toHex = (value: bigint): string => value.toString(16).padStart(64, '0')

/** Is equal for `s` and `n - s`: each form follows from the other without the key, so both are one use. */
export function fingerprint({ r, s }: Signature): string {
  const low = s > CURVE_ORDER / 2n ? CURVE_ORDER - s : s
  return hash('sha256', `${r.toString(16)}:${low.toString(16)}`)
}
