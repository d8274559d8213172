import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import type { z } from 'zod'
import { suggestName } from '../domain/nearest-name.ts'
import { ConfigError, type Violation } from '../errors.ts'
import { lineOf } from './toml-lines.ts'

type Rows<Kinds extends Record<string, z.ZodObject>> = {
  [Kind in keyof Kinds]: (z.infer<Kinds[Kind]> & { path: string })[]
}

type RowFile<Kinds extends Record<string, z.ZodObject>> = {
  /** The good ones, each with its path, such as `gpus[3]`. */
  rows: Rows<Kinds>
  /** Adds problems under the file and the line of their paths. */
  report: (violations: readonly Violation[]) => void
}

/** A TOML file of lists of tables, such as `[[gpus]]`, by their names. */
export function readRowFile<Kinds extends Record<string, z.ZodObject>>(
  file: string,
  kinds: Kinds,
  maxRows: number,
  problems: Violation[],
): RowFile<Kinds> {
  const fileProblems: Violation[] = []
  const text = readText(file, fileProblems)
  const document = parseToml(text, fileProblems)
  for (const key of Object.keys(document))
    if (!Object.hasOwn(kinds, key))
      fileProblems.push({ path: key, message: unknownSetting(key, Object.keys(kinds)) })
  const rows = Object.fromEntries(
    Object.entries(kinds).map(([kind, schema]) => [
      kind,
      readRows(kind, document[kind], schema, maxRows, fileProblems),
    ]),
  ) as Rows<Kinds>
  const report = (violations: readonly Violation[]): void => {
    for (const { path, message } of violations) {
      const line = path === '' ? null : lineOf(text, path)
      const place = line === null ? file : `${file}:${line}`
      problems.push({ path: path ? `${place}: ${path}` : place, message })
    }
  }
  report(fileProblems)
  return { rows, report }
}

/** For files of the package. @throws ConfigError with what is wrong in them */
export function withoutProblems<Value>(read: (problems: Violation[]) => Value): Value {
  const problems: Violation[] = []
  const value = read(problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return value
}

function readText(file: string, problems: Violation[]): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    problems.push({ path: '', message: `cannot be read: ${code === 'ENOENT' ? 'no such file' : code}` })
    return ''
  }
}

function parseToml(text: string, problems: Violation[]): Record<string, unknown> {
  try {
    return parse(text)
  } catch (cause) {
    const { message, line, column } = cause as Error & { line?: number; column?: number }
    const [first] = message.replace(/^Invalid TOML document: /, '').split('\n')
    const place = line === undefined ? '' : ` (line ${line}, column ${column})`
    problems.push({ path: '', message: `not TOML: ${first}${place}` })
    return {}
  }
}

function readRows<Schema extends z.ZodObject>(
  kind: string,
  value: unknown,
  schema: Schema,
  maxRows: number,
  problems: Violation[],
): (z.infer<Schema> & { path: string })[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) {
    problems.push({ path: kind, message: `expected tables that begin with [[${kind}]]` })
    return []
  }
  if (value.length > maxRows) problems.push({ path: kind, message: `at most ${maxRows} rows; remove some` })
  return value.slice(0, maxRows).flatMap((row, n) => {
    const path = `${kind}[${n}]`
    const { data, error } = schema.safeParse(row)
    if (error !== undefined) problems.push(...error.issues.flatMap((issue) => describe(issue, path, schema)))
    return error === undefined ? [{ ...data, path }] : []
  })
}

function describe(issue: z.core.$ZodIssue, row: string, { shape }: z.ZodObject): Violation[] {
  const path = issue.path.reduce<string>(
    (to, part) => (typeof part === 'number' ? `${to}[${part}]` : `${to}.${String(part)}`),
    row,
  )
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
  const settings = issue.path.length === 0 ? Object.keys(shape) : []
  return issue.keys.map((key) => ({ path: `${path}.${key}`, message: unknownSetting(key, settings) }))
}

const unknownSetting = (key: string, names: readonly string[]): string =>
  `unknown setting${suggestName(key, names) || '; remove it, or correct its name'}`
