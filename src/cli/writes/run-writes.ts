import { EXIT, type ExitCode } from '../exit-codes.ts'
import { startProgress } from '../output/progress.ts'
import { printReport, type Terminal } from '../output/terminal.ts'
import { type ResultOptions, WriteResultPrinter } from '../output/write-results.ts'
import type { RegistryClient } from '../registries/registry-client.ts'
import type { Registry, RegistryOptions } from '../registries/select-registries.ts'
import { RegistryWriter } from './registry-writer.ts'
import type { WriteResult } from './write-result.ts'

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

/** Prints each result, then the exit code follows from all. SIGINT ends the writes; a second one ends the process. */
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
  const onInterrupt = (): void => interrupt.abort()
  process.once('SIGINT', onInterrupt)
  const { signal } = interrupt
  const progress = startProgress(
    terminal,
    targets.map(({ registry }) => registry.url),
  )
  const printer = new WriteResultPrinter(terminal, { ...options, progress })
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
    const code = await printer.finish(results.flat())
    return signal.aborted ? EXIT.interrupted : code
  } finally {
    progress.stop()
    process.off('SIGINT', onInterrupt)
  }
}
