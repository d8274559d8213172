import { addSigning, type CommandDefinition, FORCE_OPTION, LISTING_FILE } from '../command.ts'
import { type DraftListing, readListingFile } from '../listing-file.ts'
import { printWarning, type Terminal } from '../output/terminal.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { openWallet } from '../signing/wallet.ts'
import { publishListings } from '../writes/publish-listings.ts'
import { requireValid } from '../writes/require-valid.ts'
import { readAcceptedResults } from '../writes/result-file.ts'
import { runWrites, type WriteOptions } from '../writes/run-writes.ts'

type PublishOptions = WriteOptions & {
  /** A file of results. */
  onlyFailed?: string
  force?: boolean
}

export const publishCommand: CommandDefinition<PublishOptions> = {
  summary: 'publish the listings of a file to every selected Registry',
  define: (command) =>
    addSigning(command)
      .argument(...LISTING_FILE)
      .option(
        '--only-failed <results>',
        'skip what an earlier publish had accepted, by this file with its output (JSON or NDJSON)',
      )
      .option(...FORCE_OPTION),
  example:
    'entrepot publish listings.yaml --key-file seller.key -r https://open.example,https://curated.example',
  async run({ terminal, openClient }, options, [file = '']) {
    const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options, 'write')
    const drafts = await readListingFile(terminal, file)
    warnOfStorefronts(terminal, file, drafts)
    const { onlyFailed } = options
    const isDone = onlyFailed === undefined ? () => false : readAcceptedResults(onlyFailed)
    const wallet = await openWallet(terminal, { ...options, isStdinTaken: file === '-' })
    const targets = registries.map((registry) => {
      const due = drafts.filter(({ listingId }) => !isDone(registry.url, listingId))
      return { registry, due, total: due.length }
    })
    const client = await openClient()
    if (!options.force) await requireValid(terminal, client, targets, discoveryTimeoutMs)
    return runWrites({
      terminal,
      client,
      options,
      signer: wallet.address,
      targets,
      write: (writer, { due }, signal) => publishListings(due, { writer, wallet, signal }),
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
