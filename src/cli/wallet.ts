import { type Operation, signedMessage } from '../registry/signature.ts'
import { readPrivateKey } from './private-key.ts'
import type { Terminal } from './terminal.ts'

/** The seller's wallet: its address, and what it can sign. Its key never leaves this closure. */
export type Wallet = {
  /** Lower-cased, as the signed message of a publish names it. */
  address: string
  /** EIP-191 signature of an operation, 65 bytes in hex without `0x`, as the deployed clients send it. */
  sign: (operation: Operation, subject: string, timestamp: number) => Promise<string>
}

/** Unix time, as signed messages have it. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

/** Opens the wallet that `--key-file` or `ENTREPOT_PRIVATE_KEY` names. */
export const openWallet = async (terminal: Terminal, keyFile: string | undefined): Promise<Wallet> => {
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
