import type { Terminal } from '../output/terminal.ts'
import { onlyMatch, withoutEllipsis } from '../registries/look-up-listing.ts'
import type { RegistryClient } from '../registries/registry-client.ts'
import type { Registry } from '../registries/select-registries.ts'
import { readOwnListings } from './own-listings.ts'

const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i
const BEGINNING_OF_UUID = /^[0-9a-f]{8}[0-9a-f-]*$/i

/**
 * The full id of an own listing whose generated id (a UUID) begins with `text`; other ids are taken as they are,
 * since `listing-1` also begins `listing-10`.
 * @throws CliError where several do
 */
export async function resolveOwnId(
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
