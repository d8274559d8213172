import { existsSync, readFileSync } from 'node:fs'
import { ConfigError, type Violation } from '../errors.ts'
import { decodeText, readFailure } from './secret-files.ts'
import type { Environment } from './settings.ts'

const ENV_FILE = '.env'

/** With the `.env` of the working directory, whose variables count where the environment has none. @throws ConfigError */
export function withEnvFile(environment: Environment): Environment {
  if (!existsSync(ENV_FILE)) return environment
  const problems: Violation[] = []
  const variables = readVariables(problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return { ...variables, ...environment }
}

/**
 * Comment, assignment, or nothing, as Node's `--env-file` has them. The only blanks beside a value are spaces and tabs, and a
 * value that begins with a quote ends with it.
 */
const ENTRY =
  /[ \t]*(?:(?:export[ \t]+)?(?<name>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*(?:"(?<escaped>[^"]*)"|(?<quote>['`])(?<quoted>.*?)\k<quote>|(?<plain>(?!["'`])(?:[^\s#]|[ \t])*))[ \t]*)?(?:#[^\r\n]*)?(?:\n|$)/sy

/** Each line that is no entry is a problem: the gate that it sets would stay open. Its text may be a secret. */
function readVariables(problems: Violation[]): Record<string, string> {
  const variables: Record<string, string> = {}
  const text = readEnvText(problems).replaceAll('\r\n', '\n')
  for (let at = 0; at < text.length; ) {
    ENTRY.lastIndex = at
    const entry = ENTRY.exec(text)
    if (entry === null) {
      const line = text.slice(0, at).split('\n').length
      problems.push({ path: `${ENV_FILE}:${line}`, message: NO_ENTRY })
      at = `${text}\n`.indexOf('\n', at) + 1
      continue
    }
    at = ENTRY.lastIndex
    const { name, escaped, quoted, plain = '' } = entry.groups!
    if (name !== undefined) variables[name] = escaped?.replaceAll('\\n', '\n') ?? quoted ?? plain.trim()
  }
  return variables
}

const NO_ENTRY =
  'is neither NAME=value nor a # comment; blanks are spaces and tabs, lines end with a line feed, and quotes are closed'

function readEnvText(problems: Violation[]): string {
  try {
    return decodeText(readFileSync(ENV_FILE))
  } catch (cause) {
    problems.push({ path: ENV_FILE, message: `cannot be read: ${readFailure(cause)}` })
    return ''
  }
}
