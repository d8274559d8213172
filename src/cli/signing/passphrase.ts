import { openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { ReadStream } from 'node:tty'
import { decodeText } from '../../config/secret-files.ts'
import { CliError, describeFileError, EXIT, usageError } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import { readTypedLine } from '../output/typed-line.ts'

type PassphraseOptions = {
  question: string
  /** Whether stdin holds something else. */
  isStdinTaken?: boolean
  /** Asked on a terminal to type it again. */
  repetition?: string
}

/**
 * From the file that `ENTREPOT_KEY_PASSPHRASE_FILE` names, a terminal (without echo), or the first line of a pipe.
 * @throws CliError
 */
export async function readPassphrase(terminal: Terminal, options: PassphraseOptions): Promise<string> {
  const { stdin, env } = terminal
  const file = env.ENTREPOT_KEY_PASSPHRASE_FILE
  if (file) return readTextFile(file, 'passphrase file', () => true).replace(/\r?\n$/, '')
  if (stdin.isTTY) return typed(stdin, (text) => terminal.stderr.write(text), options)
  if (!options.isStdinTaken) return firstLine(stdin)
  const tty = openTerminal()
  try {
    return await typed(tty.input, tty.write, options)
  } finally {
    tty.input.destroy()
  }
}

const MAX_KEY_FILE_BYTES = 64 * 1024

/** Trimmed. @throws CliError 78 for a file that is missing, too large or, if `isSecret`, readable by others */
export const readKeyFile = (...file: Parameters<typeof readTextFile>): string => readTextFile(...file).trim()

function readTextFile(file: string, what: string, isSecret: (text: string) => boolean): string {
  try {
    const { size, mode } = statSync(file)
    if (size > MAX_KEY_FILE_BYTES) throw new Error(`larger than ${MAX_KEY_FILE_BYTES} bytes`)
    const text = decodeText(readFileSync(file))
    // A secret is only protected by its file's mode, which Windows lacks.
    if (isSecret(text.trim()) && (mode & 0o077) !== 0 && process.platform !== 'win32')
      throw new CliError(EXIT.badConfig, `${file} can be read by others than its owner: chmod 600 ${file}`)
    return text
  } catch (cause) {
    if (cause instanceof CliError) throw cause
    throw new CliError(EXIT.badConfig, `cannot read the ${what} ${file}: ${describeFileError(cause)}`)
  }
}

async function typed(
  input: ReadStream,
  write: (text: string) => void,
  { question, repetition }: PassphraseOptions,
): Promise<string> {
  const ask = async (text: string): Promise<string> => {
    const answer = readTypedLine({ input }, usageError(`no passphrase: ${HOW_TO_GIVE}`))
    write(text)
    return answer.finally(() => write('\n'))
  }
  const passphrase = await ask(question)
  if (repetition !== undefined && passphrase !== (await ask(repetition)))
    throw usageError('the two passphrases differ: run the command again')
  return passphrase
}

async function firstLine(stdin: NodeJS.ReadStream): Promise<string> {
  try {
    for await (const line of createInterface({ input: stdin })) return line
  } finally {
    // A pipe that its writer keeps open would keep this process.
    stdin.destroy()
  }
  throw usageError(`no passphrase: ${HOW_TO_GIVE}`)
}

const HOW_TO_GIVE = 'run this in a terminal, or name its file in ENTREPOT_KEY_PASSPHRASE_FILE'

/** The terminal that controls this process, for commands with another stdin. */
function openTerminal(): { input: ReadStream; write: (text: string) => void } {
  try {
    const descriptor = openSync('/dev/tty', 'r+')
    return { input: new ReadStream(descriptor), write: (text) => void writeSync(descriptor, text) }
  } catch (cause) {
    throw new CliError(EXIT.failure, `no passphrase: stdin holds the listings; ${HOW_TO_GIVE}`, { cause })
  }
}
