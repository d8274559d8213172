import { isJsonObject, listAt, parseObject } from '../../json/value.ts'
import { AS_IS_OPTION, addSigning, type CommandDefinition, LISTING_FILE } from '../command.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { type DraftListing, hiddenIn, readListingFile, readTextFile } from '../listing-file.ts'
import { printBuyersReading } from '../output/buyers-reading.ts'
import { printWarning, type Terminal } from '../output/terminal.ts'
import { readJson } from '../registries/registry-client.ts'
import { factsOf } from '../registries/registry-facts.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { openSellers } from '../signing/seller-keys.ts'
import { requireGood } from '../writes/check-drafts.ts'
import { draftsFor } from '../writes/line-drafts.ts'
import { publishListings } from '../writes/publish-listings.ts'
import { runWrites, type WriteOptions } from '../writes/run-writes.ts'

type PublishOptions = WriteOptions & {
  /** A file of results. */
  onlyFailed?: string
  asIs?: boolean
}

export const publishCommand: CommandDefinition<PublishOptions> = {
  summary: 'publish the listings of a file to every selected Registry',
  define: (command) =>
    addSigning(command)
      .argument(...LISTING_FILE)
      .option(
        '--only-failed <results>',
        'skip what is accepted according to this file, the output of an earlier publish (JSON or NDJSON)',
      )
      .option(...AS_IS_OPTION),
  example:
    'entrepot publish listings.yaml --key-file seller.key -r https://open.example,https://curated.example',
  async run({ terminal, openClient }, options, [file = '']) {
    const { registries, discoveryTimeoutMs, tokens } = selectRegistries(terminal, options, 'write')
    const drafts = await readListingFile(terminal, file, tokens)
    warnOfStorefronts(terminal, file, drafts)
    const { onlyFailed } = options
    const isDone = onlyFailed === undefined ? () => false : readAcceptedResults(onlyFailed)
    const sellers = await openSellers(terminal, registries, { ...options, isStdinTaken: file === '-' })
    const client = await openClient()
    const dues = sellers.map(({ registry }) =>
      draftsFor(terminal, registry, drafts).filter(({ listingId }) => !isDone(registry.url, listingId)),
    )
    const asked = sellers.map(({ registry }) => registry)
    const facts = await factsOf(client, asked, tokens, discoveryTimeoutMs, options)
    printBuyersReading(terminal, drafts, facts)
    const targets = sellers.map((seller, n) => {
      const due = dues[n]!
      return { ...seller, facts: facts[n]!, due, total: due.length }
    })
    requireGood(terminal, targets, options.asIs)
    return runWrites({
      terminal,
      client,
      options,
      targets,
      hidden: hiddenIn(drafts),
      write: (writer, { due, account }, signal) => publishListings(due, { writer, account, signal }),
    })
  },
}

function warnOfStorefronts(terminal: Terminal, file: string, drafts: readonly DraftListing[]): void {
  if (new Set(drafts.map(({ storefrontUrl }) => storefrontUrl ?? '')).size > 1)
    printWarning(
      terminal,
      `${file} names several storefronts; a wallet has one, which will be that of the last listing`,
    )
}

/**
 * Whether a file of results, a JSON array or NDJSON, has the write as accepted. Its last line may be cut off.
 * @throws CliError 65 for a file without results
 */
function readAcceptedResults(file: string): (registry: string, listingId: string) => boolean {
  const text = readTextFile(file)
  const list = listAt(readJson({ body: Buffer.from(text) })).filter(isJsonObject)
  const results = list.length > 0 ? list : text.split('\n').map(parseObject)
  if (!results.some(({ outcome }) => typeof outcome === 'string'))
    throw new CliError(
      EXIT.badData,
      `${file} has no results: name a file with the output of entrepot publish, in JSON or NDJSON`,
    )
  const accepted = new Set(
    results
      .filter(({ action, outcome }) => action === 'publish' && outcome === 'accepted')
      .map(({ registry, listing_id }) => `${registry}\n${listing_id}`),
  )
  return (registry, listingId) => accepted.has(`${registry}\n${listingId}`)
}
