import type { Violation } from '../errors.ts'
import type { Environment } from './settings.ts'

/** A file that is read, and what its values may refer to. */
export type FileContext = { file: string; environment: Environment; problems: Violation[] }

const VARIABLE = /\$\{([^}]*)\}/g

/** Replaces `${VAR}` in every string; an unset variable is a problem at its TOML path. */
export function expandVariables(value: unknown, source: FileContext, path = ''): unknown {
  if (typeof value === 'string') return expandText(value, source, path)
  if (Array.isArray(value)) return value.map((item, n) => expandVariables(item, source, `${path}[${n}]`))
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      expandVariables(member, source, path ? `${path}.${name}` : name),
    ]),
  )
}

const expandText = (text: string, { environment, problems }: FileContext, path: string): string =>
  text.replace(VARIABLE, (_whole, name: string) => {
    const value = variable(name, environment) ?? ''
    if (value === '')
      problems.push({
        path,
        message: `the environment variable ${name} is not set; set it, or remove \${${name}}`,
      })
    return value
  })

/** Own variables only: a file may name `constructor`. */
export const variable = (name: string, environment: Environment): string | undefined =>
  Object.hasOwn(environment, name) ? environment[name] : undefined
