import { formatAgeSince } from '../../domain/timestamp.ts'
import { textAt } from '../../json/value.ts'
import { hasAnswered } from '../../wire/describe-missing.ts'
import { addReading, type CommandDefinition, JSON_OPTION, KEY_FILE_OPTION } from '../command.ts'
import { exitCodeOfReports } from '../output/source-reports.ts'
import { tableText } from '../output/table.ts'
import { printData, type Terminal } from '../output/terminal.ts'
import { type JsonOptions, selectRegistries } from '../registries/select-registries.ts'
import { readAddress } from '../signing/wallet.ts'
import { type OwnListing, readOwnListings } from '../writes/own-listings.ts'

type MineOptions = JsonOptions & { keyFile?: string }

export const mineCommand: CommandDefinition<MineOptions> = {
  summary: 'print the listings of your wallet in every selected Registry, of any status',
  define: (command) =>
    addReading(command)
      .option(...KEY_FILE_OPTION)
      .option(...JSON_OPTION),
  example: 'entrepot mine --key-file seller.key -r https://open.example,https://curated.example',
  async run({ terminal, openClient }, options) {
    const { registries } = selectRegistries(terminal, options)
    const address = await readAddress(terminal, options)
    const client = await openClient()
    const reads = await Promise.all(
      registries.map((registry) =>
        readOwnListings(terminal, client, registry, address, options.discoveryTimeout),
      ),
    )
    const rows = reads.flatMap(({ listings }) => listings).map(rowOf)
    const reports = reads.flatMap((one) => one.reports)
    if (reports.some(({ state }) => hasAnswered(state)))
      await printData(terminal, options.json, rows, () => table(terminal, rows))
    return exitCodeOfReports(reports)
  },
}

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
