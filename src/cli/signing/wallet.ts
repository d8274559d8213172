import type { Signer as Account } from '../../client/request.ts'
import { type JsonValue, textAt } from '../../json/value.ts'
import { publisherOf } from '../../signing/principal.ts'
import type { Signer } from '../../signing/proof.ts'
import { readSecret, type Secret } from '../../signing/secret.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import { readKeyFile } from './passphrase.ts'

export type WalletOptions = {
  /** Default: the key of `ENTREPOT_PRIVATE_KEY`. */
  keyFile?: string | undefined
  /** Whether stdin holds something else than a passphrase. */
  isStdinTaken?: boolean
}

/** `account`: of viem, which signs what requests of the plain line say; `null` for a key that no Registry there takes. */
export type Wallet = Signer & { account: () => Promise<Account | null> }

/** The private key never leaves the signer. @throws CliError; its message never repeats what was read */
export async function openWallet(terminal: Terminal, options: WalletOptions): Promise<Wallet> {
  const { keyFile } = options
  if (keyFile !== undefined) {
    const text = readKeyFile(keyFile, 'key file', isBareKey)
    return isBareKey(text)
      ? signerOf(readSecret(text), keyFile)
      : openKeystore(terminal, text, { ...options, keyFile })
  }
  const value = terminal.env.ENTREPOT_PRIVATE_KEY?.trim()
  if (value) return signerOf(readSecret(value), 'ENTREPOT_PRIVATE_KEY')
  throw usageError(
    'no signing key: name its file with --key-file, or set ENTREPOT_PRIVATE_KEY; entrepot wallet new FILE creates one',
  )
}

/** As listings name their publisher: the lower-cased address, or `ed25519:…`. A keystore that states its address stays closed. */
export async function readPublisher(terminal: Terminal, options: WalletOptions): Promise<string> {
  const { keyFile } = options
  const text = keyFile === undefined ? '' : readKeyFile(keyFile, 'key file', isBareKey)
  const stated = isBareKey(text) ? null : textAt(parseJsonFile(text, keyFile!) as JsonValue, 'address')
  const digits = /^(?:0x)?([0-9a-f]{40})$/i.exec(stated ?? '')?.[1]
  if (digits !== undefined) return `0x${digits.toLowerCase()}`
  return publisherOf((await openWallet(terminal, options)).principal)
}

const isBareKey = (text: string): boolean => !text.startsWith('{')

/** The signer of a key that `source` holds. @throws CliError 78 */
export async function signerOf(secret: Secret | null, source: string): Promise<Wallet> {
  const { openSigner } = await import('../../signing/proof.ts')
  const signer = secret && openSigner(secret)
  if (signer !== null)
    return { ...signer, account: async () => (await import('../../client/signer.ts')).walletOf(secret!) }
  throw new CliError(
    EXIT.badConfig,
    `${source} is not a private key: expected 32 bytes in hex, or a seed of Ed25519 in base64url`,
  )
}

async function openKeystore(
  terminal: Terminal,
  text: string,
  { keyFile, isStdinTaken }: WalletOptions & { keyFile: string },
): Promise<Wallet> {
  const { decryptKeystore, parseKeystore } = await import('./keystore.ts')
  const keystore = parseKeystore(parseJsonFile(text, keyFile), keyFile)
  const { readPassphrase } = await import('./passphrase.ts')
  const question = `Passphrase of ${keyFile}: `
  const passphrase = await readPassphrase(terminal, { question, isStdinTaken: isStdinTaken === true })
  return signerOf(readSecret(decryptKeystore(keystore, passphrase, keyFile)), keyFile)
}

/** Without the parser's message, which would quote the file. */
function parseJsonFile(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CliError(EXIT.badConfig, `${file} is neither a private key in hex nor a keystore`)
  }
}
