import { readFileSync } from 'node:fs'
import { ConfigError, type Violation } from '../errors.ts'
import { withEnvFile } from './env-file.ts'
import { type GatewayFile, parseGatewayFile } from './gateway-file.ts'
import { type Authority, readAuthority } from './identity.ts'
import { readFailure, withSecretFiles } from './secret-files.ts'
import {
  type Environment,
  environment as processEnvironment,
  readEnvironment,
  type Settings,
} from './settings.ts'
import { configWarnings } from './warnings.ts'

/** All settings, checked and frozen. Meanings and defaults: docs/contract.md#1-settings. */
export type Config = Readonly<
  Settings &
    GatewayFile & {
      /** `null`: the service speaks the plain line only. */
      authority: Authority | null
      /** What is valid and probably not intended. */
      warnings: readonly Violation[]
    }
>

/** @throws ConfigError with every problem of the environment, the secret files and the gateway file */
export function loadConfig(given: Environment = processEnvironment): Config {
  const environment = withEnvFile(given)
  const problems: Violation[] = []
  const settings = readEnvironment(withSecretFiles(environment, problems), problems)
  const file = settings.configPath
  const gateway = parseGatewayFile(readText(file, problems), { file, environment, problems })
  const authority = readAuthority(environment, problems)
  if (!gateway.access.plain && authority === null)
    problems.push({
      path: 'access.plain',
      message: 'is false, and without REGISTRY_AUTHORITY_… there is no signed line: set those, or remove it',
    })
  if (problems.length > 0) throw new ConfigError(problems)
  const config = { ...settings, ...gateway, authority }
  return Object.freeze({ ...config, warnings: configWarnings(config, environment) })
}

/** Without the gateway file. @throws ConfigError with every problem of the environment and the secret files */
export function loadStoreUrl(given: Environment): string {
  const environment = withEnvFile(given)
  const problems: Violation[] = []
  const { storeUrl } = readEnvironment(withSecretFiles(environment, problems), problems)
  // A backup needs no other setting.
  const faults = problems.filter(({ path }) => path.startsWith('STORE_URL'))
  if (faults.length > 0) throw new ConfigError(faults)
  return storeUrl
}

function readText(path: string, problems: Violation[]): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    problems.push({ path: 'ENTREPOT_CONFIG', message: `cannot read ${path}: ${readFailure(cause)}` })
    return ''
  }
}
