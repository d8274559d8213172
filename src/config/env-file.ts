import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { ConfigError } from '../errors.ts'
import type { Environment } from './settings.ts'

const ENV_FILE = '.env'

/** With the `.env` of the working directory, whose variables count where the environment has none. @throws ConfigError */
export function withEnvFile(environment: Environment): Environment {
  if (!existsSync(ENV_FILE)) return environment
  try {
    return { ...parseEnv(readFileSync(ENV_FILE, 'utf8')), ...environment }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ConfigError([{ path: ENV_FILE, message: `cannot be read: ${code ?? String(cause)}` }])
  }
}
