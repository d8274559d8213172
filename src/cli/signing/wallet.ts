import type { Signer } from '../../client/signed-write.ts'
import { type JsonValue, textAt } from '../../json/value.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import { readKeyFile } from './passphrase.ts'

type WalletOptions = {
  /** Default: the key of `ENTREPOT_PRIVATE_KEY`. */
  keyFile?: string | undefined
  /** Whether stdin holds something else than a passphrase. */
  isStdinTaken?: boolean
}

/** Its address is lower-cased. The private key never leaves the closure. */
export async function openWallet(terminal: Terminal, options: WalletOptions): Promise<Signer> {
  const key = await readPrivateKey(terminal, options)
  const { privateKeyToAccount } = await import('viem/accounts')
  const { address, signMessage } = privateKeyToAccount(key)
  return { address: address.toLowerCase(), signMessage }
}

/** Lower-cased. A keystore that states its address stays closed. */
export async function readAddress(terminal: Terminal, options: WalletOptions): Promise<string> {
  const { keyFile } = options
  const text = keyFile === undefined ? '' : readKeyFile(keyFile, 'key file', isBareKey)
  const stated = isBareKey(text) ? null : textAt(parseJsonFile(text, keyFile!) as JsonValue, 'address')
  const digits = /^(?:0x)?([0-9a-f]{40})$/i.exec(stated ?? '')?.[1]
  return digits === undefined ? (await openWallet(terminal, options)).address : `0x${digits.toLowerCase()}`
}

const isBareKey = (text: string): boolean => !text.startsWith('{')

/** The order of secp256k1. */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** @throws CliError; its message never repeats what was read */
async function readPrivateKey(terminal: Terminal, options: WalletOptions): Promise<`0x${string}`> {
  const { keyFile } = options
  if (keyFile !== undefined) {
    const text = readKeyFile(keyFile, 'key file', isBareKey)
    return isBareKey(text) ? checkKey(text, keyFile) : openKeystore(terminal, text, { ...options, keyFile })
  }
  const value = terminal.env.ENTREPOT_PRIVATE_KEY?.trim()
  if (value) return checkKey(value, 'ENTREPOT_PRIVATE_KEY')
  throw usageError(
    'no signing key: name its file with --key-file, or set ENTREPOT_PRIVATE_KEY; entrepot wallet new FILE creates one',
  )
}

function checkKey(text: string, source: string): `0x${string}` {
  const digits = text.replace(/^0x/, '')
  const isKey = /^[0-9a-f]{64}$/i.test(digits) && isInRange(BigInt(`0x${digits}`))
  if (!isKey) throw new CliError(EXIT.badConfig, `${source} is not a private key: expected 32 bytes in hex`)
  return `0x${digits.toLowerCase()}`
}

const isInRange = (key: bigint): boolean => key > 0n && key < CURVE_ORDER

async function openKeystore(
  terminal: Terminal,
  text: string,
  { keyFile, isStdinTaken }: WalletOptions & { keyFile: string },
): Promise<`0x${string}`> {
  const { decryptKeystore, parseKeystore } = await import('./keystore.ts')
  const keystore = parseKeystore(parseJsonFile(text, keyFile), keyFile)
  const { readPassphrase } = await import('./passphrase.ts')
  const question = `Passphrase of ${keyFile}: `
  const passphrase = await readPassphrase(terminal, { question, isStdinTaken: isStdinTaken === true })
  return checkKey(decryptKeystore(keystore, passphrase, keyFile), keyFile)
}

/** Without the parser's message, which would quote the file. */
function parseJsonFile(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CliError(EXIT.badConfig, `${file} is neither a private key in hex nor a keystore`)
  }
}
