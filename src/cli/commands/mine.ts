import { formatAgeSince } from '../../domain/timestamp.ts'
import { parseJson, sameJson, textAt } from '../../json/value.ts'
import { hasAnswered } from '../../wire/describe-missing.ts'
import { addReading, type CommandDefinition, JSON_OPTION, KEY_FILE_OPTION } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { exportListing } from '../listing-file.ts'
import { exitCodeOfReports } from '../output/source-reports.ts'
import { tableText } from '../output/table.ts'
import { escapeForTerminal, print, printData, printWarning, type Terminal } from '../output/terminal.ts'
import { type JsonOptions, selectRegistries } from '../registries/select-registries.ts'
import { namePublishers } from '../signing/seller-keys.ts'
import { type OwnListing, readOwnListings } from '../writes/own-listings.ts'

type MineOptions = JsonOptions & { keyFile?: string; export?: boolean }

export const mineCommand: CommandDefinition<MineOptions> = {
  summary: 'print the listings of your wallet in every selected Registry, of any status',
  define: (command) =>
    addReading(command)
      .option(...KEY_FILE_OPTION)
      .option(...JSON_OPTION)
      .option('--export', 'print the listings themselves, as a file for `publish` and `sync`'),
  example: 'entrepot mine --key-file seller.key -r https://open.example,https://curated.example',
  async run({ terminal, openClient }, options) {
    const { registries } = selectRegistries(terminal, options)
    const sellers = await namePublishers(terminal, registries, options)
    const client = await openClient()
    const reads = await Promise.all(
      sellers.map(({ registry, publisher }) =>
        readOwnListings(terminal, client, registry, publisher, options.discoveryTimeout),
      ),
    )
    const listings = reads.flatMap((read) => read.listings)
    const reports = reads.flatMap((one) => one.reports)
    const isComplete = reads.every((read) => read.isComplete)
    const rows = listings.map(rowOf)
    if (options.export) await printExport(terminal, listings, isComplete)
    else if (reports.some(({ state }) => hasAnswered(state)))
      await printData(terminal, options, rows, () => table(terminal, rows))
    return exitCodeOfReports(reports) || (isComplete ? EXIT.ok : EXIT.partial)
  },
}

/** Each listing once, as its Registry changed it last. Nothing is printed that `sync` would take for all. */
async function printExport(
  terminal: Terminal,
  listings: readonly OwnListing[],
  isComplete: boolean,
): Promise<void> {
  if (!isComplete)
    return printWarning(
      terminal,
      'nothing is exported: sync with a part of your listings would close the others',
    )
  const exported = [...Map.groupBy(listings, ({ listingId }) => listingId).values()].map((copies) => {
    const [latest, ...others] = copies.toSorted((a, b) => (changedAt(a) < changedAt(b) ? 1 : -1))
    const text = exportListing(latest!.bytes)
    const differing = others.filter(
      ({ bytes }) => !sameJson(parseJson(exportListing(bytes)), parseJson(text)),
    )
    for (const { registry, listingId } of differing)
      printWarning(
        terminal,
        `${listingId}: ${registry} has other terms; those of ${latest!.registry} are later`,
      )
    return text
  })
  await print(terminal, `[${exported.map((text) => `\n${escapeForTerminal(terminal, text)}`).join()}\n]\n`)
}

const changedAt = ({ listing }: OwnListing): string => textAt(listing, 'updated_at') ?? ''

const rowOf = ({ registry, listingId, status, listing }: OwnListing) => ({
  registry,
  listing_id: listingId,
  status,
  updated_at: textAt(listing, 'updated_at'),
})

function table(terminal: Terminal, rows: readonly ReturnType<typeof rowOf>[]): Promise<string> | string {
  if (rows.length === 0) return 'no listings\n'
  return tableText(terminal, rows, [
    // Ids are needed in full to go on.
    { title: 'ID', wholeWidth: Number.POSITIVE_INFINITY, cell: ({ listing_id: id }) => id },
    { title: 'STATUS', minWidth: 7, cell: ({ status }) => status },
    { title: 'CHANGED', align: 'right', cell: ({ updated_at }) => formatAgeSince(updated_at) },
    { title: 'REGISTRY', cell: ({ registry }) => registry.replace(/^https?:\/\//, '') },
  ])
}
