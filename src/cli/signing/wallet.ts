import { readFileSync, statSync } from 'node:fs'
import { type ClaimOperation, signedMessage } from '../../registry/signature/verify-claim.ts'
import { CliError, describeFileError, EXIT, usageError } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'

/** The private key never leaves the closure. */
export type Wallet = {
  /** Lower-cased, as in signed messages. */
  address: string
  /** EIP-191 signature, 65 bytes in hex without `0x`, as deployed clients send it. */
  sign: (operation: ClaimOperation, subject: string, timestamp: number) => Promise<string>
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

export async function openWallet(terminal: Terminal, keyFile: string | undefined): Promise<Wallet> {
  const key = await readPrivateKey(terminal, keyFile)
  const { privateKeyToAccount } = await import('viem/accounts')
  const account = privateKeyToAccount(key)
  return {
    address: account.address.toLowerCase(),
    sign: async (operation, subject, timestamp) => {
      const signature = await account.signMessage({ message: signedMessage(operation, subject, timestamp) })
      return signature.slice(2)
    },
  }
}

const MAX_KEY_FILE_BYTES = 64 * 1024

/** The order of secp256k1. */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** From `keyFile`, else `ENTREPOT_PRIVATE_KEY`. @throws CliError; its message never repeats what was read */
async function readPrivateKey(terminal: Terminal, keyFile: string | undefined): Promise<`0x${string}`> {
  if (keyFile !== undefined) return readKeyFile(terminal, keyFile)
  const value = terminal.env.ENTREPOT_PRIVATE_KEY?.trim()
  if (value) return checkKey(value, 'ENTREPOT_PRIVATE_KEY')
  throw usageError('no signing key: set ENTREPOT_PRIVATE_KEY, or name a file with --key-file')
}

async function readKeyFile(terminal: Terminal, file: string): Promise<`0x${string}`> {
  const { text, mode } = readSmallFile(file)
  if (text.startsWith('{')) return openKeystore(terminal, text, file)
  // A bare key is only protected by its file's mode, which Windows lacks.
  if ((mode & 0o077) !== 0 && process.platform !== 'win32')
    throw new CliError(EXIT.badConfig, `${file} can be read by others than its owner: chmod 600 ${file}`)
  return checkKey(text, file)
}

function readSmallFile(file: string): { text: string; mode: number } {
  try {
    const { size, mode } = statSync(file)
    if (size > MAX_KEY_FILE_BYTES) throw new Error(`larger than ${MAX_KEY_FILE_BYTES} bytes`)
    return { text: readFileSync(file, 'utf8').trim(), mode }
  } catch (cause) {
    throw usageError(`cannot read the key file ${file}: ${describeFileError(cause)}`)
  }
}

function checkKey(text: string, source: string): `0x${string}` {
  const digits = text.replace(/^0x/, '')
  const isKey = /^[0-9a-f]{64}$/i.test(digits) && isInRange(BigInt(`0x${digits}`))
  if (!isKey) throw new CliError(EXIT.badConfig, `${source} is not a private key: expected 32 bytes in hex`)
  return `0x${digits.toLowerCase()}`
}

const isInRange = (key: bigint): boolean => key > 0n && key < CURVE_ORDER

async function openKeystore(terminal: Terminal, text: string, file: string): Promise<`0x${string}`> {
  const { decryptKeystore, parseKeystore } = await import('./keystore.ts')
  const keystore = parseKeystore(parseJsonFile(text, file), file)
  const { readPassphrase } = await import('./passphrase.ts')
  const passphrase = await readPassphrase(terminal, `Passphrase of ${file}: `)
  return checkKey(decryptKeystore(keystore, passphrase, file), file)
}

/** Without the parser's message, which would quote the file. */
function parseJsonFile(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CliError(EXIT.badData, `${file} is neither a private key in hex nor a keystore`)
  }
}
