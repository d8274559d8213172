import type { Readable } from 'node:stream'
import type { Environment } from '../../config/environment.ts'
import { safeJson, safeText } from '../../domain/safe-text.ts'

export type Terminal = {
  env: Environment
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  /** Only errors and warnings go to stderr. */
  isQuiet?: boolean
}

/** no-color.org; CI logs are not terminals. */
export const isInteractive = ({ env }: Terminal, stream: NodeJS.WriteStream): boolean =>
  stream.isTTY === true && !env.NO_COLOR && !env.CI && env.TERM !== 'dumb'

/** Escapes control characters. */
export function printStatus({ stderr }: Terminal, line: string): void {
  stderr.write(`${safeText(line)}\n`)
}

/** What went well. */
export function printReport(terminal: Terminal, line: string): void {
  if (!terminal.isQuiet) printStatus(terminal, line)
}

export function printWarning(terminal: Terminal, text: string): void {
  printStatus(terminal, `entrepot: warning: ${text}`)
}

/** Escapes control characters: the output of a policy may quote listings. */
export function forwardOutput({ stderr }: Terminal, output: Readable): void {
  output.setEncoding('utf8')
  output.on('data', (text: string) => stderr.write(text.split('\n').map(safeText).join('\n')))
}

export const bold = (text: string): string => `\u001b[1m${text}\u001b[22m`

/** Resolves when the reader took the data. */
export const print = ({ stdout }: Terminal, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => stdout.write(data, (error) => (error ? reject(error) : resolve())))

/** On a terminal, escapes control and hidden characters. */
export function escapeForTerminal({ stdout }: Terminal, json: string): string {
  return stdout.isTTY ? safeJson(json) : json
}

/** JSON in a pipe and with `--json`, else `text`. */
export const printData = async (
  terminal: Terminal,
  isJson: boolean | undefined,
  value: unknown,
  text: () => string | Promise<string>,
): Promise<void> =>
  isJson || !terminal.stdout.isTTY ? printJson(terminal, value) : print(terminal, await text())

export function printJson(terminal: Terminal, value: unknown): Promise<void> {
  return print(terminal, `${escapeForTerminal(terminal, JSON.stringify(value, null, 2))}\n`)
}
