import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Path of a file in the package's `config`, which is beside both `src` and `dist`. */
export function shippedFile(name: string): string {
  return fileURLToPath(new URL(`../../config/${name}`, import.meta.url))
}

/** `NAME` or `config/NAME` of the working directory, or else the one of the package. */
export function ownOrShippedFile(name: string): string {
  return [name, `config/${name}`].find(existsSync) ?? shippedFile(name)
}

export const version = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
