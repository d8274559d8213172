import type { Violation } from '../errors.ts'
import type { Environment } from './environment.ts'

const VARIABLE = /\$\{([^}]*)\}/g

type Expansion = { environment: Environment; problems: Violation[] }

/** Replaces `${VAR}` in every string; an unset variable is a problem at its TOML path. */
export function expandVariables(value: unknown, expansion: Expansion, path = ''): unknown {
  if (typeof value === 'string') return expandText(value, expansion, path)
  if (Array.isArray(value)) return value.map((item, n) => expandVariables(item, expansion, `${path}[${n}]`))
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      expandVariables(member, expansion, path ? `${path}.${name}` : name),
    ]),
  )
}

const expandText = (text: string, { environment, problems }: Expansion, path: string): string =>
  text.replace(VARIABLE, (_whole, name: string) => {
    const value = environment[name]
    if (value === undefined) problems.push({ path, message: `\${${name}} is not set in the environment` })
    return value ?? ''
  })
