import { readFileSync } from 'node:fs'
import type { Violation } from '../errors.ts'
import type { Environment } from './settings.ts'

/** Secrets of the service: each may stand in its variable, or in a file that `<variable>_FILE` names. */
export const SECRETS = ['REGISTRY_ADMIN_API_KEY', 'REGISTRY_BOOTSTRAP_API_KEY', 'STORE_URL'] as const

/** Longer than any key or URL; a file beyond it is not a secret but a mistake. */
export const MAX_SECRET_BYTES = 16 * 1024

/**
 * The environment with every secret that a file holds in its place, as Docker and Kubernetes hand them over
 * as `NAME_FILE`. Line ends behind the secret are cut. A secret that is set twice, and a file that cannot be used, is
 * a problem; no problem repeats what a file holds.
 */
export const withSecretFiles = (environment: Environment, problems: Violation[]): Environment => {
  const found = SECRETS.flatMap((name) => {
    const secret = readSecretFile(name, environment, problems)
    return secret === null ? [] : [[name, secret] as const]
  })
  return found.length === 0 ? environment : { ...environment, ...Object.fromEntries(found) }
}

/** One secret from the file that `<name>_FILE` names; `null` where none is named, or it cannot be used. */
export const readSecretFile = (
  name: (typeof SECRETS)[number],
  environment: Environment,
  problems: Violation[],
): string | null => {
  const variable = `${name}_FILE`
  const file = environment[variable]
  if (!file) return null
  const complain = (message: string): null => {
    problems.push({ path: variable, message })
    return null
  }
  if (environment[name]) return complain(`${name} is set, too; keep one of the two`)
  const bytes = read(file)
  if (typeof bytes === 'string') return complain(`cannot read ${file}: ${bytes}`)
  if (bytes.length > MAX_SECRET_BYTES) return complain(`${file} holds more than ${MAX_SECRET_BYTES} bytes`)
  const secret = bytes.toString('utf8').replace(/[\r\n]+$/, '')
  if (secret === '') return complain(`${file} is empty`)
  return /[\r\n]/.test(secret) ? complain(`${file} holds more than one line`) : secret
}

/** The bytes, or the code of what went wrong. */
const read = (file: string): Buffer | string => {
  try {
    return readFileSync(file)
  } catch (cause) {
    return String((cause as NodeJS.ErrnoException).code)
  }
}
