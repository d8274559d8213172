import { plural } from '../../domain/plural.ts'
import { safeText } from '../../domain/safe-text.ts'
import { isJsonObject, listAt, textAt } from '../../json/value.ts'
import { combineExitCodes, EXIT, type ExitCode } from '../exit-codes.ts'
import { describeViolation } from '../registries/registry-client.ts'
import { DONE, exitCodeOfWrite, type WriteResult } from '../writes/write-result.ts'
import type { Progress } from './progress.ts'
import { escapeForTerminal, forLocale, print, printJson, printStatus, type Terminal } from './terminal.ts'

export type ResultOptions = { json?: boolean; ndjson?: boolean }

type PrinterOptions = ResultOptions & { progress: Progress }

/** On a terminal a line as each write settles, with `--ndjson` an object a line, or else a JSON array at the end. */
export class WriteResultPrinter {
  readonly #terminal: Terminal
  readonly #options: PrinterOptions
  readonly #isText: boolean
  #printed: Promise<void> = Promise.resolve()

  constructor(terminal: Terminal, options: PrinterOptions) {
    this.#terminal = terminal
    this.#options = options
    this.#isText = terminal.stdout.isTTY === true && !options.json && !options.ndjson
  }

  add(result: WriteResult): void {
    const { registry, listing_id, outcome, error } = result
    if (this.#options.ndjson) this.#print(`${escapeForTerminal(this.#terminal, JSON.stringify(result))}\n`)
    // Those that were not sent are counted at the end.
    if (outcome === 'not_sent') return
    if (this.#isText) this.#print(`${forLocale(this.#terminal, safeText(textOf(result)))}\n`)
    const notes = [...(this.#isText || error === undefined ? [] : [error]), ...notesOf(result)]
    if (notes.length > 0) this.#options.progress.pause()
    for (const note of notes) printStatus(this.#terminal, `[registry] ${registry}: ${listing_id}: ${note}`)
  }

  async finish(results: readonly WriteResult[]): Promise<ExitCode> {
    const { json, ndjson } = this.#options
    if (!ndjson && (json || !this.#isText)) await printJson(this.#terminal, results)
    else await this.#printed
    const unsent = results.filter(({ outcome }) => outcome === 'not_sent')
    for (const [registry, group] of Map.groupBy(unsent, (result) => result.registry))
      printStatus(
        this.#terminal,
        `[registry] ${registry}: ${plural(group.length, 'listing')} not sent: ${group[0]?.error?.replace('not sent; ', '')}`,
      )
    return combineExitCodes(results.map(exitCodeOfWrite), EXIT.failure)
  }

  #print(text: string): void {
    this.#printed = this.#printed.then(() => {
      this.#options.progress.pause()
      return print(this.#terminal, text)
    })
  }
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
