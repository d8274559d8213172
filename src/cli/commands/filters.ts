import { OPERATIONS } from '../../filter-spec/operations/operations.ts'
import { describeFilter } from '../../filter-spec/parameters.ts'
import type { FilterDescription } from '../../gateway/counts/filter-descriptions.ts'
import { addReading, type CommandDefinition, JSON_OPTION } from '../command.ts'
import { exitCodeOfReports, printFailures } from '../output/source-reports.ts'
import { type ColumnOf, tableText } from '../output/table.ts'
import { printData, type Terminal } from '../output/terminal.ts'
import { COMMAND, openBuyerMarket } from '../registries/buyer-market.ts'
import { type JsonOptions, selectRegistries } from '../registries/select-registries.ts'

export const filtersCommand: CommandDefinition<JsonOptions> = {
  summary: 'print the filters of all selected Registries, with their kinds and allowed values',
  define: (command) => addReading(command).option(...JSON_OPTION),
  example: 'entrepot filters -r http://127.0.0.1:8080',
  async run({ terminal, openClient }, options) {
    const selected = selectRegistries(terminal, options)
    const { registries, discoveryTimeoutMs: ms } = selected
    const deadlines = { registryMs: ms, overallMs: ms }
    const market = openBuyerMarket(await openClient(), selected, { deadlines })
    const { filters, sources } = await market.filters(COMMAND, false)
    printFailures(terminal, sources)
    if (sources.some(({ state }) => state === 'loaded'))
      await printData(terminal, options, filters.map(onWire), () =>
        filterTable(terminal, filters, registries.length > 1),
      )
    return exitCodeOfReports(sources)
  },
}

const onWire = (filter: FilterDescription) => ({
  name: filter.name,
  op: filter.op,
  value_type: filter.value_type,
  meaning: describeFilter(filter),
  allowed: filter.allowed,
  registries: filter.registries,
})

function filterTable(
  terminal: Terminal,
  filters: readonly FilterDescription[],
  hasSeveral: boolean,
): Promise<string> {
  const columns: ColumnOf<FilterDescription>[] = [
    { title: 'FILTER', minWidth: 20, cell: ({ name }) => name },
    { title: 'KIND', minWidth: 8, cell: ({ value_type }) => value_type },
    {
      title: 'VALUES',
      minWidth: 8,
      cell: (filter) => filter.allowed?.join(', ') || OPERATIONS[filter.op].syntax(filter),
    },
  ]
  if (hasSeveral)
    columns.push({ title: 'REGISTRIES', minWidth: 8, cell: ({ registries = [] }) => registries.join(', ') })
  return tableText(terminal, filters, columns)
}
