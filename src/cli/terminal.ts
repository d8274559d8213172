import type { Environment } from '../config/settings.ts'
import { safeText } from '../domain/safe-text.ts'

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

export const bold = (text: string): string => `\u001b[1m${text}\u001b[22m`

/** Writes data, and waits until the reader took it. */
export const print = ({ stdout }: Terminal, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => stdout.write(data, (error) => (error ? reject(error) : resolve())))

/** Data as JSON: indented, one object a document. */
export const printJson = (terminal: Terminal, value: unknown): Promise<void> =>
  print(terminal, `${JSON.stringify(value, null, 2)}\n`)
