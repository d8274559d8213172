import type { Readable } from 'node:stream'
import type { Environment } from '../config/settings.ts'
import { safeJson, safeText } from '../domain/safe-text.ts'

/** What a command is run with: the process's streams and environment, or a test's. */
export type Terminal = {
  env: Environment
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
}

/** Whether a stream shows colour and movement to a person (no-color.org; CI logs are no terminals). */
export const isLively = ({ env }: Terminal, stream: NodeJS.WriteStream): boolean =>
  stream.isTTY === true && !env.NO_COLOR && !env.CI && env.TERM !== 'dumb'

/** One line of news on stderr, harmless whatever it quotes. */
export const tell = ({ stderr }: Terminal, line: string): void => {
  stderr.write(`${safeText(line)}\n`)
}

/** Copies the output of a policy to stderr line by line, control characters escaped: it may quote listings. */
export function showOutput({ stderr }: Terminal, output: Readable): void {
  output.setEncoding('utf8')
  output.on('data', (text: string) => stderr.write(text.split('\n').map(safeText).join('\n')))
}

export const bold = (text: string): string => `\u001b[1m${text}\u001b[22m`

/** Writes data, and waits until the reader took it. */
export const print = ({ stdout }: Terminal, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => stdout.write(data, (error) => (error ? reject(error) : resolve())))

/** JSON text as it is for a program; for a terminal the same value, with control and hidden characters escaped. */
export function jsonFor({ stdout }: Terminal, json: string): string {
  return stdout.isTTY ? safeJson(json) : json
}

/** A value as JSON, indented. */
export function printJson(terminal: Terminal, value: unknown): Promise<void> {
  return print(terminal, `${jsonFor(terminal, JSON.stringify(value, null, 2))}\n`)
}
