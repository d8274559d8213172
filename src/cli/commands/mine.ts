import { safeText } from '../../domain/safe-text.ts'
import { formatAgeSince } from '../../domain/timestamp.ts'
import { textAt } from '../../json/value.ts'
import { addReading, type CommandDefinition, JSON_OPTION, KEY_FILE_OPTION } from '../command.ts'
import { exitCodeOfReports } from '../output/source-reports.ts'
import { renderTable, type TableColumn } from '../output/table.ts'
import { printData } from '../output/terminal.ts'
import { type JsonOptions, selectRegistries } from '../registries/select-registries.ts'
import { readAddress } from '../signing/wallet.ts'
import { type OwnListing, readOwnListings } from '../writes/own-listings.ts'

type MineOptions = JsonOptions & { keyFile?: string }

export const mineCommand: CommandDefinition<MineOptions> = {
  define: (command) =>
    addReading(command)
      .option(...KEY_FILE_OPTION)
      .option(...JSON_OPTION),
  example: 'entrepot mine --key-file seller.json -r https://open.example,https://curated.example',
  async run({ terminal, openClient }, options) {
    const { registries } = selectRegistries(terminal, options)
    const address = await readAddress(terminal, options)
    const client = await openClient()
    const found = await Promise.all(
      registries.map((registry) => readOwnListings(terminal, client, registry, address)),
    )
    const rows = found.flatMap(({ listings }) => listings).map(rowOf)
    await printData(terminal, options.json, rows, () => table(rows, terminal.stdout.columns))
    return exitCodeOfReports(found.flatMap(({ reports }) => reports))
  },
}

const rowOf = ({ registry, listingId, status, listing }: OwnListing) => ({
  registry,
  listing_id: listingId,
  status,
  updated_at: textAt(listing, 'updated_at'),
})

const hostOf = (url: string): string => url.replace(/^https?:\/\//, '')

async function table(rows: readonly ReturnType<typeof rowOf>[], width: number): Promise<string> {
  if (rows.length === 0) return 'no listings\n'
  const cells = rows.map((row) =>
    [row.listing_id, row.status, formatAgeSince(row.updated_at), hostOf(row.registry)].map((cell) =>
      safeText(cell ?? '-'),
    ),
  )
  // Ids are needed in full to go on.
  const idWidth = Math.max(...cells.map(([id = '']) => id.length))
  const columns: TableColumn[] = [
    { title: 'ID', minWidth: idWidth },
    { title: 'STATUS', minWidth: 7 },
    { title: 'CHANGED', align: 'right' },
    { title: 'REGISTRY' },
  ]
  return `${(await renderTable(columns, cells, width || 80)).join('\n')}\n`
}
