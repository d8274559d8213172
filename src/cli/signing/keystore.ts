import { createDecipheriv, pbkdf2Sync, scryptSync, timingSafeEqual } from 'node:crypto'
import { keccak256 } from 'viem/utils'
import { z } from 'zod'
import { CliError, EXIT } from '../exit-codes.ts'

/** Budgets for key files: geth's own parameters need 256 MiB and about a second. */
const MAX_SCRYPT_BYTES = 1024 * 1024 * 1024
const MAX_PBKDF2_ROUNDS = 10_000_000

const hex = z.string().regex(/^(0x)?([0-9a-f]{2})*$/i, 'expected bytes in hex')
const keyLength = z.int().min(32).max(64)

const crypto = z.object({
  cipher: z.literal('aes-128-ctr'),
  ciphertext: hex,
  cipherparams: z.object({ iv: hex }),
  mac: hex,
  kdf: z.enum(['scrypt', 'pbkdf2']),
  kdfparams: z.union([
    z.object({ n: z.int().min(2), r: z.int().min(1), p: z.int().min(1), dklen: keyLength, salt: hex }),
    z.object({
      c: z.int().min(1).max(MAX_PBKDF2_ROUNDS),
      prf: z.literal('hmac-sha256'),
      dklen: keyLength,
      salt: hex,
    }),
  ]),
})

/** Web3 Secret Storage, version 3. Some wallets write `Crypto`. */
const keystore = z
  .looseObject({ version: z.literal(3), crypto: crypto.optional(), Crypto: crypto.optional() })
  .transform((file, context) => {
    const section = file.crypto ?? file.Crypto
    if (section !== undefined) return section
    context.addIssue({ code: 'custom', message: 'has no crypto section' })
    return z.NEVER
  })

type Keystore = z.infer<typeof keystore>

export function parseKeystore(value: unknown, file: string): Keystore {
  const parsed = keystore.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue === undefined ? '' : `${issue.path.join('.')}: ${issue.message}`
  throw new CliError(EXIT.badData, `${file} is no Ethereum keystore of version 3 (${where})`)
}

/** 32 bytes in lower-case hex with `0x`. @throws CliError 77 for a wrong passphrase, 65 beyond the budgets */
export function decryptKeystore(keystore: Keystore, passphrase: string, file: string): `0x${string}` {
  const derived = deriveKey(keystore, passphrase, file)
  const ciphertext = bytes(keystore.ciphertext)
  const mac = Buffer.from(keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext])).slice(2), 'hex')
  const expected = bytes(keystore.mac)
  if (expected.length !== mac.length || !timingSafeEqual(expected, mac))
    throw new CliError(EXIT.notAuthorized, `the passphrase does not open ${file}`)
  const iv = bytes(keystore.cipherparams.iv)
  if (iv.length !== 16 || ciphertext.length !== 32)
    throw new CliError(EXIT.badData, `${file} does not hold an Ethereum private key`)
  const decipher = createDecipheriv('aes-128-ctr', derived.subarray(0, 16), iv)
  return `0x${Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('hex')}`
}

const bytes = (text: string): Buffer => Buffer.from(text.replace(/^0x/, ''), 'hex')

function deriveKey({ kdf, kdfparams }: Keystore, passphrase: string, file: string): Buffer {
  const salt = bytes(kdfparams.salt)
  if ('c' in kdfparams) {
    if (kdf !== 'pbkdf2') throw mismatch(file)
    return pbkdf2Sync(passphrase, salt, kdfparams.c, kdfparams.dklen, 'sha256')
  }
  if (kdf !== 'scrypt') throw mismatch(file)
  const { n, r, p, dklen } = kdfparams
  const needed = 128 * r * (n + p + 2)
  if (needed > MAX_SCRYPT_BYTES || p > 64)
    throw new CliError(
      EXIT.badData,
      `${file} asks for more memory than ${MAX_SCRYPT_BYTES} bytes to be opened`,
    )
  try {
    return scryptSync(passphrase, salt, dklen, { N: n, r, p, maxmem: needed + 1024 * 1024 })
  } catch (cause) {
    // OpenSSL requires RFC 7914 section 2: N is a power of 2 below 2^(16 r). Some old wallets violate that.
    const what = `${file}: its scrypt parameters cannot be used (n=${n}, r=${r}, p=${p}); write it anew with your wallet`
    throw new CliError(EXIT.badData, what, { cause })
  }
}

const mismatch = (file: string): CliError =>
  new CliError(EXIT.badData, `${file}: kdf and kdfparams do not belong together`)
