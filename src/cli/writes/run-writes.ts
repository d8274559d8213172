import { plural } from '../../domain/plural.ts'
import { safeText } from '../../domain/safe-text.ts'
import { formatJson, isJsonObject, listAt, textAt } from '../../json/value.ts'
import { combineExitCodes, EXIT, type ExitCode } from '../exit-codes.ts'
import { type Progress, startProgress } from '../output/progress.ts'
import {
  escapeForTerminal,
  forLocale,
  print,
  printJson,
  printReport,
  printStatus,
  type Terminal,
} from '../output/terminal.ts'
import { describeViolation, type RegistryClient } from '../registries/registry-client.ts'
import type { Registry, RegistryOptions } from '../registries/select-registries.ts'
import { RegistryWriter } from './registry-writer.ts'
import { DONE, exitCodeOfWrite, type WriteResult } from './write-result.ts'

type ResultOptions = { json?: boolean; ndjson?: boolean }

export type WriteOptions = RegistryOptions &
  ResultOptions & {
    keyFile?: string
    deadline?: number
  }

type Target = { registry: Registry; total: number }

type Writes<T extends Target> = {
  terminal: Terminal
  client: RegistryClient
  options: WriteOptions
  signer: string
  /** Each with the number of its writes. */
  targets: readonly T[]
  write: (writer: RegistryWriter, target: T, signal: AbortSignal) => Promise<WriteResult[]>
}

/** Prints each result, then the exit code follows from all. SIGINT or SIGTERM ends the writes; a second one ends the process. */
export async function runWrites<T extends Target>({
  terminal,
  client,
  options,
  signer,
  targets,
  write,
}: Writes<T>): Promise<ExitCode> {
  printReport(terminal, `[wallet] signed by ${signer}`)
  const interrupt = new AbortController()
  const stopListening = (): void => {
    for (const name of ENDING) process.off(name, onInterrupt)
  }
  const onInterrupt = (): void => {
    stopListening()
    interrupt.abort()
  }
  for (const name of ENDING) process.on(name, onInterrupt)
  const { signal } = interrupt
  const progress = startProgress(
    terminal,
    targets.map(({ registry }) => registry.url),
  )
  const printer = createPrinter(terminal, options, progress)
  const writeTo = (target: T): Promise<WriteResult[]> => {
    const { registry, total } = target
    const writer = new RegistryWriter({
      client,
      registry,
      total,
      signer,
      deadline: options.deadline,
      signal,
      report: (line) => {
        progress.pause()
        printReport(terminal, line)
      },
      onResult: (result, done) => {
        printer.add(result)
        progress.note(registry.url, `${done} of ${total}`)
      },
    })
    return write(writer, target, signal)
  }
  try {
    const results = await Promise.all(targets.map(writeTo))
    progress.stop()
    await printer.finish(results.flat())
    return signal.aborted ? EXIT.interrupted : exitCodeOfWrites(results.flat())
  } finally {
    progress.stop()
    stopListening()
  }
}

/** What was not sent after a refusal follows from it. */
function exitCodeOfWrites(results: readonly WriteResult[]): ExitCode {
  const refusing = new Set(
    results.filter(({ outcome }) => outcome === 'refused').map(({ registry }) => registry),
  )
  const own = results.filter(({ outcome, registry }) => outcome !== 'not_sent' || !refusing.has(registry))
  return combineExitCodes(own.map(exitCodeOfWrite), EXIT.failure)
}

/** A terminal sends the first at Ctrl-C, the system the second to end a job. */
const ENDING = ['SIGINT', 'SIGTERM'] as const

/** On a terminal a line as each write settles, with `--ndjson` an object a line, or else a JSON array at the end. */
function createPrinter(terminal: Terminal, { json, ndjson }: ResultOptions, progress: Progress) {
  const isText = terminal.stdout.isTTY === true && !json && !ndjson
  let printed = Promise.resolve()
  const printNext = (text: string): void => {
    printed = printed.then(() => {
      progress.pause()
      return print(terminal, text)
    })
  }
  return {
    add: (result: WriteResult): void => {
      const { registry, listing_id, outcome, error } = result
      if (ndjson) printNext(`${escapeForTerminal(terminal, formatJson(result))}\n`)
      // Those that were not sent are counted at the end.
      if (outcome === 'not_sent') return
      if (isText) printNext(`${forLocale(terminal, safeText(textOf(result)))}\n`)
      const notes = [...(isText || error === undefined ? [] : [error]), ...notesOf(result)]
      if (notes.length > 0) progress.pause()
      for (const note of notes) printStatus(terminal, `[registry] ${registry}: ${listing_id}: ${note}`)
    },
    finish: async (results: readonly WriteResult[]): Promise<void> => {
      if (isText || ndjson) await printed
      else await printJson(terminal, results)
      printReport(terminal, countsOf(results))
      const unsent = results.filter(({ outcome }) => outcome === 'not_sent')
      for (const [registry, group] of Map.groupBy(unsent, (result) => result.registry))
        printStatus(
          terminal,
          `[registry] ${registry}: ${plural(group.length, 'listing')} not sent: ${group[0]?.error?.replace('not sent; ', '')}`,
        )
    },
  }
}

/** `900 accepted at 3 Registries, 0 failed`. */
function countsOf(results: readonly WriteResult[]): string {
  const accepted = results.filter(({ outcome }) => outcome === 'accepted').length
  const registries = new Set(results.map(({ registry }) => registry)).size
  const where = `${registries} ${registries === 1 ? 'Registry' : 'Registries'}`
  return `${accepted} accepted at ${where}, ${results.length - accepted} failed`
}

function textOf({ registry, listing_id, action, outcome, error, answer }: WriteResult): string {
  const status = action === 'close' ? null : textAt(answer, 'status')
  const done = status === null ? DONE[action] : `${DONE[action]} (${status})`
  return `${registry}  ${listing_id}  ${outcome === 'accepted' ? done : `${outcome.replace('_', ' ')}: ${error}`}`
}

function notesOf({ listing_id, action, answer }: WriteResult): string[] {
  const warnings = listAt(answer, 'warnings').filter(isJsonObject).map(describeViolation)
  const state = textAt(answer, 'status')
  // Publishing again keeps the status.
  const isHidden = action === 'publish' && state !== null && state !== 'open'
  return [
    ...warnings.map((warning) => `accepted, but ${warning}`),
    ...(isHidden
      ? [`it is ${state}, so buyers do not see it: entrepot update ${listing_id} --status open`]
      : []),
  ]
}
