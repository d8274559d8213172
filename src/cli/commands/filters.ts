import { describeFilter } from '../../filter-spec/parameters.ts'
import type { KnownFilter } from '../../gateway/discovery.ts'
import { describeMissing } from '../../wire/describe-missing.ts'
import { addReading, type CommandDefinition, JSON_OPTION } from '../command.ts'
import { exitCodeOfReports } from '../output/source-reports.ts'
import { type ColumnOf, tableText } from '../output/table.ts'
import { printData, printStatus, type Terminal } from '../output/terminal.ts'
import { knownFilters } from '../registries/discover-registries.ts'
import { type JsonOptions, selectRegistries } from '../registries/select-registries.ts'

export const filtersCommand: CommandDefinition<JsonOptions> = {
  summary: 'print the filters of all selected Registries, with their kinds and allowed values',
  define: (command) => addReading(command).option(...JSON_OPTION),
  example: 'entrepot filters -r http://127.0.0.1:8080',
  async run({ terminal, openClient }, options) {
    const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
    const { filters, sources } = await knownFilters(await openClient(), registries, discoveryTimeoutMs)
    for (const source of sources)
      if (source.state !== 'loaded')
        printStatus(
          terminal,
          `[registry] ${describeMissing(source)}${source.detail ? `: ${source.detail}` : ''}`,
        )
    if (sources.some(({ state }) => state === 'loaded'))
      await printData(terminal, options.json, filters.map(onWire), () =>
        filterTable(terminal, filters, registries.length > 1),
      )
    return exitCodeOfReports(sources)
  },
}

const onWire = (filter: KnownFilter) => ({
  name: filter.name,
  op: filter.op,
  value_type: filter.value_type,
  meaning: describeFilter(filter),
  allowed: filter.allowed,
  registries: filter.registries,
})

function filterTable(
  terminal: Terminal,
  filters: readonly KnownFilter[],
  hasSeveral: boolean,
): Promise<string> {
  const columns: ColumnOf<KnownFilter>[] = [
    { title: 'FILTER', minWidth: 20, cell: ({ name }) => name },
    { title: 'KIND', minWidth: 8, cell: ({ value_type }) => value_type },
    { title: 'VALUES', minWidth: 8, cell: (filter) => filter.allowed?.join(', ') || syntaxOf(filter) },
  ]
  if (hasSeveral)
    columns.push({ title: 'REGISTRIES', minWidth: 8, cell: ({ registries = [] }) => registries.join(', ') })
  return tableText(terminal, filters, columns)
}

/** What may follow `NAME=`. */
function syntaxOf({ op, alias_kind, value_type }: KnownFilter): string {
  switch (op) {
    case 'exists':
      return 'exists:true or exists:false'
    case 'not_in':
      return 'not_in:[A,B]'
    case 'in':
      return value_type === 'boolean' ? 'true or false' : 'A or in:[A,B]'
    case 'range':
      return alias_kind === null ? 'range:[16,128]' : '16 or range:[16,128]'
  }
}
