import * as Keystore from 'ox/Keystore'
import { z } from 'zod'
import { CliError, EXIT } from '../exit-codes.ts'

/** Twice what geth's own parameters need (n=262144, r=8): 512 MiB, and a few seconds. */
const MAX_SCRYPT_COST = 2 ** 22
/** Four times what eth-account uses; a few seconds. */
const MAX_PBKDF2_ROUNDS = 4_000_000

const hex = (pattern: RegExp, expected: string) =>
  z
    .string()
    .regex(pattern, expected)
    .transform((text) => text.replace(/^0x/i, ''))

const salt = hex(/^(0x)?([0-9a-f]{2})*$/i, 'expected bytes in hex')
const sixteenBytes = hex(/^(0x)?[0-9a-f]{32}$/i, 'expected 16 bytes in hex')
const thirtyTwoBytes = hex(/^(0x)?[0-9a-f]{64}$/i, 'expected 32 bytes in hex')
/** The key's further bytes are not used. */
const dklen = z.int().min(32)

const cipher = z.object({
  cipher: z.literal('aes-128-ctr'),
  cipherparams: z.object({ iv: sixteenBytes }),
  ciphertext: thirtyTwoBytes,
  mac: thirtyTwoBytes,
})

const factor = z.int().min(1).max(64)

const scrypt = z
  .object({ n: z.int().min(2), r: factor, p: factor, dklen, salt })
  .refine(({ n, r, p }) => n * r * p <= MAX_SCRYPT_COST, `costs more than n * r * p = ${MAX_SCRYPT_COST}`)

const pbkdf2 = z.object({
  c: z.int().min(1).max(MAX_PBKDF2_ROUNDS),
  prf: z.literal('hmac-sha256'),
  dklen,
  salt,
})

const crypto = z.discriminatedUnion('kdf', [
  cipher.extend({ kdf: z.literal('scrypt'), kdfparams: scrypt }),
  cipher.extend({ kdf: z.literal('pbkdf2'), kdfparams: pbkdf2 }),
])

/** Web3 Secret Storage, version 3. Some wallets write `Crypto`. */
const file = z.preprocess(
  (value) =>
    typeof value === 'object' && value !== null && 'Crypto' in value
      ? { crypto: value.Crypto, ...value }
      : value,
  z.object({ version: z.literal(3), crypto, id: z.string().catch('') }),
)

/** @throws CliError 78 for another file, and for parameters beyond the budgets */
export function parseKeystore(value: unknown, name: string): Keystore.Keystore {
  const parsed = file.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue === undefined ? '' : ` (${issue.path.join('.')}: ${issue.message})`
  throw new CliError(
    EXIT.badConfig,
    `${name} is not an Ethereum keystore of version 3 that can be opened${where}`,
  )
}

/** 32 bytes in lower-case hex with `0x`. @throws CliError 78 for a wrong passphrase, and for unusable parameters */
export function decryptKeystore(
  keystore: Keystore.Keystore,
  passphrase: string,
  name: string,
): `0x${string}` {
  const key = deriveKey(keystore, passphrase, name)
  try {
    return Keystore.decrypt(keystore, key)
  } catch (cause) {
    throw new CliError(EXIT.badConfig, `the passphrase does not open ${name}`, { cause })
  }
}

/** As geth's wallets do; a second of work and 256 MiB. */
const SCRYPT = { n: 262_144, r: 8, p: 1 }

/** Text of a keystore file, with the address. */
export function encryptKeystore(privateKey: `0x${string}`, address: string, passphrase: string): string {
  const [key, derivation] = Keystore.scrypt({ password: passphrase, ...SCRYPT })
  const keystore = Keystore.encrypt(privateKey, key, derivation)
  return `${JSON.stringify({ address: address.slice(2).toLowerCase(), ...keystore })}\n`
}

function deriveKey(keystore: Keystore.Keystore, passphrase: string, name: string): Keystore.Key {
  try {
    return Keystore.toKey(keystore, { password: passphrase })
  } catch (cause) {
    // RFC 7914 section 2: n is a power of 2.
    const reason = (cause as Error).message
    throw new CliError(
      EXIT.badConfig,
      `${name}: its ${keystore.crypto.kdf} parameters cannot be used: ${reason}`,
      { cause },
    )
  }
}
