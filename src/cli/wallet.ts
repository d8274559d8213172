import { type Operation, signedMessage } from '../registry/signature.ts'
import { readPrivateKey } from './private-key.ts'
import type { Terminal } from './terminal.ts'

/** The private key never leaves the closure. */
export type Wallet = {
  /** Lower-cased, as in signed messages. */
  address: string
  /** EIP-191 signature, 65 bytes in hex without `0x`, as deployed clients send it. */
  sign: (operation: Operation, subject: string, timestamp: number) => Promise<string>
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
