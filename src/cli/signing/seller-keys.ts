import type { Signer as Account } from '../../client/request.ts'
import { publisherOf } from '../../signing/principal.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import type { Registry } from '../registries/select-registries.ts'
import { openWallet, readPublisher, type WalletOptions } from './wallet.ts'

/** A Registry, and who writes to it. */
export type Seller = {
  /** Of the signed line: its requests are signed by the seller. */
  registry: Registry
  /** As listings name their publisher. */
  publisher: string
  /** Signs what requests of the plain line say; `null` on the signed line. */
  account: Account | null
}

type KeyOptions = WalletOptions & {
  /** File of the key for Registries of the signed line. Default: the wallet signs on both lines. */
  identity?: string
}

/** @throws CliError for a key that cannot sign on the line of its Registry */
export async function openSellers(
  terminal: Terminal,
  registries: readonly Registry[],
  options: KeyOptions,
): Promise<Seller[]> {
  const { identity } = options
  const isWalletUsed = identity === undefined || registries.some(({ signed }) => signed === undefined)
  const wallet = isWalletUsed ? await openWallet(terminal, options) : null
  const signer = identity === undefined ? wallet! : await openWallet(terminal, { keyFile: identity })
  const account = wallet && (await wallet.account())
  return registries.map((registry) => {
    const { signed } = registry
    if (signed !== undefined) {
      const asSeller = { ...signed, identity: async () => ({ signer, role: 'seller' }) as const }
      return {
        registry: { ...registry, signed: asSeller },
        publisher: publisherOf(signer.principal),
        account: null,
      }
    }
    if (account === null) throw new CliError(EXIT.badConfig, `${registry.url} ${TAKES_WALLETS}`)
    return { registry, publisher: publisherOf(wallet!.principal), account }
  })
}

const TAKES_WALLETS =
  'speaks the plain line, which takes wallets and no key of ed25519: name a wallet with --key-file, or pin the Registry under [registry.authorities] if it speaks the signed line'

/** Whose listings each Registry is asked for. A keystore that states its address stays closed. */
export async function namePublishers(
  terminal: Terminal,
  registries: readonly Registry[],
  options: KeyOptions,
): Promise<Pick<Seller, 'registry' | 'publisher'>[]> {
  const keyFileAt = ({ signed }: Registry) =>
    signed === undefined ? options.keyFile : (options.identity ?? options.keyFile)
  const named = new Map<string | undefined, string>()
  for (const keyFile of new Set(registries.map(keyFileAt)))
    named.set(keyFile, await readPublisher(terminal, { ...options, keyFile }))
  return registries.map((registry) => ({ registry, publisher: named.get(keyFileAt(registry))! }))
}
