import { SourceError } from '../../domain/source/source-error.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import type { DraftListing } from '../listing-file.ts'
import { printStatus, printWarning, type Terminal } from '../output/terminal.ts'
import { fetchListingCheck, type ListingCheck } from '../registries/listing-check.ts'
import type { RegistryClient } from '../registries/registry-client.ts'
import type { Registry } from '../registries/select-registries.ts'

const MAX_PRINTED_LISTINGS = 20

type Target = { registry: Registry; due: readonly DraftListing[] }

/**
 * Checks the listings against the shape of each Registry that declares one.
 * @throws CliError 65, before anything is sent
 */
export async function requireValid(
  terminal: Terminal,
  client: RegistryClient,
  targets: readonly Target[],
  timeoutMs: number,
): Promise<void> {
  const findings = await Promise.all(
    targets.map(async ({ registry, due }) => {
      if (due.length === 0) return []
      const check = await fetchListingCheck(client, registry, timeoutMs).catch(checkNothing)
      const misspelt = new Set(due.flatMap(check.misspelt))
      for (const message of misspelt) printWarning(terminal, `${registry.url}: ${message}`)
      return due.flatMap((draft) => {
        const errors = check.violations(draft)
        return errors.length === 0
          ? []
          : [`[registry] ${registry.url}: ${draft.listingId}: ${errors.join('; ')}`]
      })
    }),
  )
  const invalid = findings.flat()
  if (invalid.length === 0) return
  for (const line of invalid.slice(0, MAX_PRINTED_LISTINGS)) printStatus(terminal, line)
  const rest = invalid.length - MAX_PRINTED_LISTINGS
  if (rest > 0) printStatus(terminal, `[registry] and ${rest} more`)
  throw new CliError(
    EXIT.badData,
    'nothing is published: listings do not fit the listing shape, so filters would miss them; --force publishes them',
  )
}

/** A Registry that cannot be asked, or has no shape, decides when it gets the listing. */
function checkNothing(cause: unknown): ListingCheck {
  if (cause instanceof SourceError) return { violations: () => [], misspelt: () => [] }
  throw cause
}
