import type { Command } from 'commander'
import { withEnvFile } from '../../config/env-file.ts'
import { readSecretFile } from '../../config/secret-files.ts'
import { type Environment, serviceUrl } from '../../config/settings.ts'
import { redactCredentials } from '../../domain/safe-text.ts'
import { ConfigError, type Violation } from '../../errors.ts'
import { collectUrls, JSON_OPTION } from '../command.ts'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import { type ApiRequest, endpointUrl } from './registry-client.ts'
import { splitList, urlProblem } from './select-registries.ts'

export type AdminOptions = {
  /** Default: `HOST` and `PORT`. */
  registries?: readonly string[]
  json?: boolean
}

const ADMIN_TIMEOUT_MS = 10_000

export const addAdmin = (command: Command): Command =>
  command
    .option('-r, --registries <url>', 'URL of the Registry (default: http://$HOST:$PORT)', collectUrls)
    .option(...JSON_OPTION)

/** The admin key goes to one Registry, and never to those that a buyer has configured. */
export function adminRequest(
  terminal: Terminal,
  { registries }: AdminOptions,
  path: string,
): Omit<ApiRequest, 'method'> {
  const env = withEnvFile(terminal.env)
  const urls = splitList(registries)
  if (urls.length > 1) throw usageError('name one Registry: the admin key belongs to one')
  if (urls.length === 0 && !env.HOST && !env.PORT)
    throw new CliError(EXIT.badConfig, 'no Registry is named: use -r URL, or set HOST and PORT')
  const url = urls[0] ?? serviceUrl(env.HOST || '127.0.0.1', env.PORT || '8080')
  const problem = urlProblem(url)
  if (problem !== null) throw usageError(`${redactCredentials(url)} ${problem}`)
  const key = adminKey(env)
  return { url: endpointUrl({ url }, path), key, timeoutMs: ADMIN_TIMEOUT_MS }
}

function adminKey(env: Environment): string {
  const problems: Violation[] = []
  const key = readSecretFile('REGISTRY_ADMIN_API_KEY', env, problems) ?? env.REGISTRY_ADMIN_API_KEY?.trim()
  if (problems.length > 0) throw new ConfigError(problems)
  if (!key)
    throw new CliError(EXIT.notAuthorized, 'set REGISTRY_ADMIN_API_KEY to the admin key of that Registry')
  return key
}
