import { createInterface } from 'node:readline'
import { CliError, EXIT } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'

const MAX_PASSPHRASE_CHARACTERS = 4096

/** Without echo on a terminal; from a pipe, the first line. @throws CliError */
export async function readPassphrase(terminal: Terminal, question: string): Promise<string> {
  const { stdin, stderr } = terminal
  if (!stdin.isTTY) return firstLine(stdin)
  try {
    const typing = readHidden(stdin)
    stderr.write(question)
    return await typing
  } finally {
    stderr.write('\n')
  }
}

async function firstLine(stdin: NodeJS.ReadStream): Promise<string> {
  for await (const line of createInterface({ input: stdin })) return line
  throw new CliError(EXIT.failure, 'no passphrase: run this in a terminal, or pipe the passphrase in')
}

const ENTER = /[\r\n\u0004]/
const INTERRUPT = '\u0003'
const ERASE = /[\b\u007f]/
const ERASE_ALL = '\u0015'

/** Raw mode prevents echo, so editing keys are handled here. */
const readHidden = (stdin: NodeJS.ReadStream): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    const finish = (settle: () => void): void => {
      stdin.setRawMode(false)
      stdin.off('data', onData)
      stdin.pause()
      settle()
    }
    const onData = (chunk: Buffer): void => {
      for (const character of chunk.toString('utf8')) {
        if (ENTER.test(character)) {
          finish(() => resolve(text))
          return
        }
        if (character === INTERRUPT) {
          finish(() => reject(new CliError(EXIT.failure, 'interrupted')))
          return
        }
        if (ERASE.test(character)) text = [...text].slice(0, -1).join('')
        else if (character === ERASE_ALL) text = ''
        else if (text.length < MAX_PASSPHRASE_CHARACTERS) text += character
      }
    }
    stdin.setRawMode(true)
    stdin.on('data', onData)
    stdin.resume()
  })
