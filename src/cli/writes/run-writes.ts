import { plural } from '../../domain/plural.ts'
import { safeText } from '../../domain/safe-text.ts'
import { placeOf } from '../../domain/url.ts'
import { formatJson, isJsonObject, listAt, textAt } from '../../json/value.ts'
import { combineExitCodes, EXIT, type ExitCode } from '../exit-codes.ts'
import { describeIds, MAX_LISTING_LINES } from '../output/buyers-reading.ts'
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
import type { RegistryOptions } from '../registries/select-registries.ts'
import type { Seller } from '../signing/seller-keys.ts'
import { RegistryWriter } from './registry-writer.ts'
import { DONE, exitCodeOfWrite, type WriteResult } from './write-result.ts'

type ResultOptions = { json?: boolean; ndjson?: boolean }

export type WriteOptions = RegistryOptions &
  ResultOptions & {
    keyFile?: string
    deadline?: number
    timeout?: number
  }

type Target = Pick<Seller, 'registry' | 'publisher'> & { total: number }

type Writes<T extends Target> = {
  terminal: Terminal
  client: RegistryClient
  options: WriteOptions
  /** Each with the number of its writes. */
  targets: readonly T[]
  /** Listings that are meant to be closed. */
  hidden?: ReadonlySet<string>
  write: (writer: RegistryWriter, target: T, signal: AbortSignal) => Promise<WriteResult[]>
}

/** Prints each result, then the exit code follows from all. SIGINT or SIGTERM ends the writes; a second one ends the process. */
export async function runWrites<T extends Target>({
  terminal,
  client,
  options,
  targets,
  hidden,
  write,
}: Writes<T>): Promise<ExitCode> {
  const signers = new Set(targets.map(({ publisher }) => publisher))
  printReport(terminal, `[wallet] signed by ${[...signers].join(' and ')}`)
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
  const isLong = targets.some(({ total }) => total > MAX_LISTING_LINES)
  const printer = createPrinter(terminal, { ...options, isLong, hidden }, progress)
  const writeTo = (target: T): Promise<WriteResult[]> => {
    const { registry, publisher, total } = target
    const writer = new RegistryWriter({
      client,
      registry,
      total,
      signer: publisher,
      deadline: options.deadline,
      timeout: options.timeout,
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

type PrinterOptions = ResultOptions & {
  /** Whether lines are only for what is no success. */
  isLong: boolean
  hidden: ReadonlySet<string> | undefined
}

/** On a terminal a line as each write settles, with `--ndjson` an object a line, or else a JSON array at the end. */
function createPrinter(
  terminal: Terminal,
  { json, ndjson, isLong, hidden }: PrinterOptions,
  progress: Progress,
) {
  const startedAt = performance.now()
  const isText = terminal.stdout.isTTY === true && !json && !ndjson
  /** How often each refusal came. */
  const repeated = new Map<string, number>()
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
      const refusal = `[registry] ${registry}: ${error}`
      repeated.set(refusal, (repeated.get(refusal) ?? 0) + (error === undefined ? 0 : 1))
      if (repeated.get(refusal)! > 1) return
      if (isText && !(isLong && outcome === 'accepted'))
        printNext(`${forLocale(terminal, safeText(textOf(result)))}\n`)
      if (isText || error === undefined) return
      progress.pause()
      printStatus(terminal, `[registry] ${registry}: ${listing_id}: ${error}`)
    },
    finish: async (results: readonly WriteResult[]): Promise<void> => {
      if (isText || ndjson) await printed
      else await printJson(terminal, results)
      for (const [refusal, count] of repeated)
        if (count > 1) printStatus(terminal, `${refusal} (${plural(count, 'listing')})`)
      for (const note of notesOf(results, hidden)) printStatus(terminal, `[registry] ${note}`)
      printReport(terminal, countsOf(results, performance.now() - startedAt))
      const unsent = results.filter(({ outcome }) => outcome === 'not_sent')
      for (const [registry, group] of Map.groupBy(unsent, (result) => result.registry))
        printStatus(
          terminal,
          `[registry] ${registry}: ${plural(group.length, 'listing')} not sent: ${group[0]?.error?.replace('not sent; ', '')}`,
        )
    },
  }
}

/** `30 published, 1 closed at 2 Registries, 0 failed, 6.0 s`. */
function countsOf(results: readonly WriteResult[], ms: number): string {
  const accepted = results.filter(({ outcome }) => outcome === 'accepted')
  const done = [...Map.groupBy(accepted, ({ action }) => DONE[action])]
  const counts = done.map(([word, group]) => `${group.length} ${word}`).join(', ') || 'nothing written'
  const registries = new Set(results.map(({ registry }) => JSON.stringify(placeOf(registry)))).size
  const where = plural(registries, 'Registry', 'Registries')
  return `${counts} at ${where}, ${results.length - accepted.length} failed, ${(ms / 1000).toFixed(1)} s`
}

function textOf({ registry, listing_id, action, outcome, error, answer }: WriteResult): string {
  const status = action === 'close' ? null : textAt(answer, 'status')
  const done = status === null ? DONE[action] : `${DONE[action]} (${status})`
  return `${registry}  ${listing_id}  ${outcome === 'accepted' ? done : `${outcome.replace('_', ' ')}: ${error}`}`
}

/** What else sellers have to know: warnings of the Registries, and listings that buyers do not see. A line for all of one kind. */
function notesOf(results: readonly WriteResult[], hidden: ReadonlySet<string> | undefined): string[] {
  const notes = new Map<string, string[]>()
  const add = (registry: string, note: string, id: string): void => {
    const key = `${registry}\n${note}`
    notes.set(key, [...(notes.get(key) ?? []), id])
  }
  for (const { registry, listing_id: id, action, answer } of results) {
    for (const warning of listAt(answer, 'warnings').filter(isJsonObject))
      add(registry, `accepted, but ${describeViolation(warning)}`, id)
    const state = textAt(answer, 'status')
    // Publishing again keeps the status.
    if (action === 'publish' && state !== null && state !== 'open' && hidden?.has(id) !== true)
      add(registry, `it is ${state}, so buyers do not see it; entrepot update --status open opens it`, id)
  }
  const lines = [...notes].map(([key, ids]) => {
    const [registry, note = ''] = key.split('\n')
    return `${registry}: ${describeIds(ids)}: ${note}`
  })
  const rest = lines.length - MAX_NOTES
  return rest > 0 ? [...lines.slice(0, MAX_NOTES), `and ${plural(rest, 'more note')}`] : lines
}

const MAX_NOTES = 20
