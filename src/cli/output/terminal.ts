import type { Readable } from 'node:stream'
import type { Environment } from '../../config/settings.ts'
import { safeJson, safeText } from '../../domain/safe-text.ts'
import { formatJson } from '../../json/value.ts'

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

export const isUtf8Locale = ({ env }: Terminal): boolean =>
  /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '')

const IN_ASCII: Readonly<Record<string, string>> = { '…': '~', '·': '-', '✓': '+', '✗': 'x' }

/** This program's own signs, of the same width in other locales than UTF-8. */
export const forLocale = (terminal: Terminal, text: string): string =>
  isUtf8Locale(terminal) ? text : text.replace(/[…·✓✗]/g, (sign) => IN_ASCII[sign]!)

/** Escapes control characters. */
export function printStatus(terminal: Terminal, line: string): void {
  terminal.stderr.write(`${forLocale(terminal, safeText(line))}\n`)
}

/** Progress and success, which `--quiet` omits. */
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

/** Resolves when the reader took the data, or has gone: `entrepot listings | head` is no error. */
export const print = ({ stdout }: Terminal, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) =>
    stdout.write(data, (error) => (error && !isClosedPipe(error) ? reject(error) : resolve())),
  )

const isClosedPipe = ({ code }: NodeJS.ErrnoException): boolean => code === 'EPIPE'

/** For people, not for programs. */
export const printText = (terminal: Terminal, text: string): Promise<void> =>
  print(terminal, forLocale(terminal, text))

/** On a terminal, escapes control and hidden characters. */
export function escapeForTerminal({ stdout }: Terminal, json: string): string {
  return stdout.isTTY ? safeJson(json) : json
}

export type OutputOptions = {
  table?: boolean | undefined
  json?: boolean | undefined
  ndjson?: boolean | undefined
}

/** Whether people read the output: with `--table`, and on a terminal without the options for JSON. */
export const isHumanOutput = ({ stdout }: Terminal, { table, json, ndjson }: OutputOptions): boolean =>
  table === true || (stdout.isTTY === true && !json && !ndjson)

/** `text` for people, else JSON. */
export const printData = async (
  terminal: Terminal,
  options: OutputOptions,
  value: unknown,
  text: () => string | Promise<string>,
): Promise<void> =>
  isHumanOutput(terminal, options) ? printText(terminal, await text()) : printJson(terminal, value)

/** One value for `$(…)`, in a pipe too; `json`, if any, in its place. */
export const printValue = (
  terminal: Terminal,
  json: object | undefined | false,
  value: string,
): Promise<void> => (json ? printJson(terminal, json) : print(terminal, `${safeText(value)}\n`))

export function printJson(terminal: Terminal, value: unknown): Promise<void> {
  return print(terminal, `${escapeForTerminal(terminal, formatJson(value, 2))}\n`)
}
