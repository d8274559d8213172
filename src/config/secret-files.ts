import { readFileSync } from 'node:fs'
import type { Violation } from '../errors.ts'
import type { Environment } from './settings.ts'

export const SECRETS = [
  'REGISTRY_ADMIN_API_KEY',
  'REGISTRY_BOOTSTRAP_API_KEY',
  'REGISTRY_METRICS_API_KEY',
  'STORE_URL',
] as const

/** Longer than any key or URL: a larger file is a mistake. */
export const MAX_SECRET_BYTES = 16 * 1024

/** Reads secrets from `<NAME>_FILE` files. Problems (set twice, unusable) never repeat what a file holds. */
export function withSecretFiles(environment: Environment, problems: Violation[]): Environment {
  const secrets = SECRETS.flatMap((name) => {
    const secret = readSecretFile(name, environment, problems)
    return secret === null ? [] : [[name, secret] as const]
  })
  return secrets.length === 0 ? environment : { ...environment, ...Object.fromEntries(secrets) }
}

export function readSecretFile(
  name: (typeof SECRETS)[number],
  environment: Environment,
  problems: Violation[],
): string | null {
  const variable = `${name}_FILE`
  const file = environment[variable]
  if (!file) return null
  const complain = (message: string): null => {
    problems.push({ path: variable, message })
    return null
  }
  if (environment[name]) return complain(`${name} is set as well; keep one of them`)
  try {
    const bytes = readFileSync(file)
    if (bytes.length > MAX_SECRET_BYTES) return complain(`${file} holds more than ${MAX_SECRET_BYTES} bytes`)
    const secret = decodeText(bytes).replace(/[\r\n]+$/, '')
    if (secret === '') return complain(`${file} is empty`)
    return /[\r\n]/.test(secret) ? complain(`${file} holds more than one line`) : secret
  } catch (cause) {
    return complain(`cannot read ${file}: ${readFailure(cause)}`)
  }
}

/** Why a file cannot be read; nothing of what it holds. */
export function readFailure(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  return code === 'ENOENT' ? 'no such file' : (code ?? message)
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Without a byte order mark. @throws Error for another encoding; its message has nothing of the text */
export function decodeText(bytes: Uint8Array): string {
  // Half the bytes of a text in UTF-16 are 0, which UTF-8 allows.
  const isWide = bytes.includes(0) || (bytes[0] === 0xff && bytes[1] === 0xfe)
  try {
    if (!isWide) return UTF8.decode(bytes)
  } catch {}
  throw new Error(`it is not in UTF-8${isWide ? ', but in UTF-16' : ''}; save it as UTF-8`)
}
