import { readFileSync, statSync } from 'node:fs'
import { CliError, describeFileError, EXIT, usageError } from '../exit-codes.ts'

const MAX_KEY_FILE_BYTES = 64 * 1024

/** Trimmed. @throws CliError for a file that is missing, too large or, if `isSecret`, readable by others */
export function readKeyFile(file: string, what: string, isSecret: (text: string) => boolean): string {
  const { text, mode } = readSmallFile(file, what)
  // A secret is only protected by its file's mode, which Windows lacks.
  if (isSecret(text) && (mode & 0o077) !== 0 && process.platform !== 'win32')
    throw new CliError(EXIT.badConfig, `${file} can be read by others than its owner: chmod 600 ${file}`)
  return text
}

function readSmallFile(file: string, what: string): { text: string; mode: number } {
  try {
    const { size, mode } = statSync(file)
    if (size > MAX_KEY_FILE_BYTES) throw new Error(`larger than ${MAX_KEY_FILE_BYTES} bytes`)
    return { text: readFileSync(file, 'utf8').trim(), mode }
  } catch (cause) {
    throw usageError(`cannot read the ${what} ${file}: ${describeFileError(cause)}`)
  }
}
