import { writeFileSync } from 'node:fs'
import { usageError } from '../exit-codes.ts'

/** Writes a file that only its owner can read. @throws CliError for one that exists */
export function writeNewKeyFile(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' })
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    throw usageError(
      code === 'EEXIST'
        ? `${file} exists, and is not overwritten: name another file`
        : `cannot write ${file}: ${code === 'ENOENT' ? 'no such folder' : message}`,
    )
  }
}
