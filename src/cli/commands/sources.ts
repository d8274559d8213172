import { isJsonObject, type JsonObject, textAt } from '../../json/value.ts'
import { formatAge } from '../../wire/describe-missing.ts'
import { addReading, type CommandDefinition, JSON_OPTION } from '../command.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { tableText } from '../output/table.ts'
import { printData, printStatus, type Terminal } from '../output/terminal.ts'
import {
  type Inspection,
  type InspectionFailure,
  inspectRegistry,
  withMissingSources,
} from '../registries/inspect-registry.ts'
import { type JsonOptions, selectRegistries } from '../registries/select-registries.ts'

export const sourcesCommand: CommandDefinition<JsonOptions> = {
  summary: 'print the health of every source of a gateway',
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
      await printData(terminal, options.json, answers, () => sourceTable(terminal, answers))
    const failures = reports.filter((report) => 'error' in report)
    for (const { registry, error } of failures) printStatus(terminal, `[registry] ${registry}: ${error}`)
    return combineExitCodes(reports.map(exitCodeOfInspection), EXIT.noAnswer)
  },
}

const exitCodeOfInspection = (report: Inspection): ExitCode =>
  'error' in report ? exitCodeOfFailedRead(report.reason === 'unauthorized') : EXIT.ok

const COLUMNS = [
  { title: 'AT', keepsEnd: true },
  { title: 'SOURCE' },
  { title: 'MODE' },
  { title: 'STATE' },
  { title: 'AGE', align: 'right' },
  { title: 'LAST ERROR' },
] as const

function sourceTable(
  terminal: Terminal,
  reports: readonly Exclude<Inspection, InspectionFailure>[],
): Promise<string> {
  const rows = reports.flatMap(({ registry, sources }) =>
    withMissingSources(sources)
      .filter(isJsonObject)
      .map((source) => [
        registry,
        nameOf(source, registry),
        textAt(source, 'mode'),
        textAt(source, 'state'),
        ageOf(source),
        textAt(source, 'reason') ?? textAt(source, 'last_error'),
      ]),
  )
  return tableText(terminal, COLUMNS, rows)
}

/** `null` for a plain Registry, which is its only source. */
function nameOf(source: JsonObject, registry: string): string | null {
  const name = textAt(source, 'registry') ?? textAt(source, 'name')
  return name === registry ? null : name
}

function ageOf({ age_seconds: age }: JsonObject): string | null {
  return typeof age === 'number' ? formatAge(age) : null
}
