import { createInterface, type ReadLineOptions } from 'node:readline'
import { CliError, EXIT } from '../exit-codes.ts'

/**
 * The next line of a terminal; echoed to `output`, or not at all without one.
 * @throws CliError after Ctrl-C, and `atEnd` after Ctrl-D
 */
export function readTypedLine(
  { question = '', ...options }: ReadLineOptions & { question?: string },
  atEnd: CliError,
): Promise<string> {
  const lines = createInterface({ ...options, terminal: true, historySize: 0 })
  const answer = new Promise<string>((resolve, reject) => {
    lines.once('SIGINT', () => reject(new CliError(EXIT.interrupted, 'interrupted')))
    lines.once('close', () => reject(atEnd))
    lines.question(question, resolve)
  })
  return answer.finally(() => lines.close())
}
