import { isRefusal } from '../../domain/source/reasons.ts'
import { formatAge } from '../../domain/timestamp.ts'
import { isJsonObject, type JsonObject, textAt } from '../../json/value.ts'
import { addReading, type CommandDefinition, JSON_OPTION } from '../command.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { type ColumnOf, tableText } from '../output/table.ts'
import { printData, printStatus } from '../output/terminal.ts'
import {
  type Inspection,
  type InspectionFailure,
  inspectRegistry,
  withMissingSources,
} from '../registries/inspect-registry.ts'
import { type JsonOptions, selectRegistries } from '../registries/select-registries.ts'

export const sourcesCommand: CommandDefinition<JsonOptions> = {
  summary: 'print the state of all selected Registries, and of the sources of those that are gateways',
  define: (command) => addReading(command).option(...JSON_OPTION),
  example: 'entrepot sources -r http://127.0.0.1:8080',
  async run({ terminal, openClient }, options) {
    const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
    const client = await openClient()
    const reports = await Promise.all(
      registries.map((registry) => inspectRegistry(client, registry, discoveryTimeoutMs)),
    )
    const answers = reports.filter((report) => 'sources' in report)
    if (answers.length > 0)
      await printData(terminal, options, answers, () => tableText(terminal, answers.flatMap(rowsOf), COLUMNS))
    const failures = reports.filter((report) => 'error' in report)
    for (const { registry, error } of failures) printStatus(terminal, `[registry] ${registry}: ${error}`)
    return combineExitCodes(reports.map(exitCodeOfInspection), EXIT.noAnswer)
  },
}

const exitCodeOfInspection = (report: Inspection): ExitCode =>
  'error' in report ? exitCodeOfFailedRead(isRefusal(report.reason)) : EXIT.ok

type SourceRow = { at: string; source: JsonObject }

const COLUMNS: readonly ColumnOf<SourceRow>[] = [
  { title: 'AT', keepsEnd: true, cell: ({ at }) => at },
  { title: 'SOURCE', cell: nameOf },
  { title: 'STATE', cell: ({ source }) => textAt(source, 'state') },
  { title: 'AGE', align: 'right', cell: ageOf },
  { title: 'LAST ERROR', cell: ({ source }) => textAt(source, 'reason') ?? textAt(source, 'last_error') },
]

const rowsOf = ({ registry: at, sources }: Exclude<Inspection, InspectionFailure>): SourceRow[] =>
  withMissingSources(sources)
    .filter(isJsonObject)
    .map((source) => ({ at, source }))

/** `null` for a plain Registry, which is its only source. */
function nameOf({ at, source }: SourceRow): string | null {
  const name = textAt(source, 'registry') ?? textAt(source, 'name')
  return name === at ? null : name
}

function ageOf({ source: { age_seconds: age } }: SourceRow): string | null {
  return typeof age === 'number' ? formatAge(age) : null
}
