import type { Signer } from '../../client/signed-write.ts'
import type { CommandContext } from '../command.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import { onlyMatch, withoutEllipsis } from '../registries/look-up-listing.ts'
import type { RegistryClient } from '../registries/registry-client.ts'
import { type Registry, selectRegistries } from '../registries/select-registries.ts'
import { openWallet } from '../signing/wallet.ts'
import { readOwnListings } from './own-listings.ts'
import { runWrites, type WriteOptions } from './run-writes.ts'
import type { Write } from './write-result.ts'

/** One write to every selected Registry, about the listing whose id is `text` or begins so. */
export async function writeOwnListing(
  { terminal, openClient }: CommandContext,
  options: WriteOptions,
  text: string,
  writeTo: (wallet: Signer, listingId: string) => Write,
): Promise<ExitCode> {
  const { registries } = selectRegistries(terminal, options, 'write')
  const wallet = await openWallet(terminal, options)
  const client = await openClient()
  const listingId = await resolveOwnId(terminal, client, registries, wallet.address, text)
  return runWrites({
    terminal,
    client,
    options,
    signer: wallet.address,
    targets: registries.map((registry) => ({ registry, total: 1 })),
    write: async (writer) => [await writer.write(writeTo(wallet, listingId))],
  })
}

const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i
const BEGINNING_OF_UUID = /^[0-9a-f]{8}[0-9a-f-]*$/i

/**
 * The full id of an own listing whose generated id (a UUID) begins with `text`; other ids are taken as they are,
 * since `listing-1` also begins `listing-10`.
 * @throws CliError where several do
 */
async function resolveOwnId(
  terminal: Terminal,
  client: RegistryClient,
  registries: readonly Registry[],
  address: string,
  text: string,
): Promise<string> {
  const beginning = withoutEllipsis(text)
  if (!BEGINNING_OF_UUID.test(beginning) || UUID.test(beginning)) return text
  const found = await Promise.all(
    registries.map((registry) => readOwnListings(terminal, client, registry, address)),
  )
  const ids = new Set(found.flatMap(({ listings }) => listings.map(({ listingId }) => listingId)))
  if (ids.has(beginning)) return beginning
  const matches = [...ids].filter((id) => UUID.test(id) && id.startsWith(beginning))
  return onlyMatch(terminal, beginning, matches) ?? text
}
