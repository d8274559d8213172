import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import type { z } from 'zod'
import { suggestName } from '../domain/nearest-name.ts'
import type { Violation } from '../errors.ts'
import { lineOf } from './toml-lines.ts'

type Rows<Kinds extends Record<string, z.ZodObject>> = {
  [Kind in keyof Kinds]: (z.infer<Kinds[Kind]> & { path: string })[]
}

type RowFile<Kinds extends Record<string, z.ZodObject>> = {
  /** The good ones, each with its path, such as `gpus[3]`. */
  rows: Rows<Kinds>
  /** Adds problems under the file and the line of their paths. */
  report: (found: readonly Violation[]) => void
}

/** A TOML file of lists of tables, such as `[[gpus]]`, by their names. */
export function readRowFile<Kinds extends Record<string, z.ZodObject>>(
  file: string,
  kinds: Kinds,
  maxRows: number,
  problems: Violation[],
): RowFile<Kinds> {
  const found: Violation[] = []
  const text = readText(file, found)
  const document = parseToml(text, found)
  for (const key of Object.keys(document))
    if (!Object.hasOwn(kinds, key))
      found.push({ path: key, message: unknownSetting(key, Object.keys(kinds)) })
  const rows = Object.fromEntries(
    Object.entries(kinds).map(([kind, schema]) => [
      kind,
      readRows(kind, document[kind], schema, maxRows, found),
    ]),
  ) as Rows<Kinds>
  const report = (violations: readonly Violation[]): void => {
    for (const { path, message } of violations) {
      const line = path === '' ? null : lineOf(text, path)
      const place = line === null ? file : `${file}:${line}`
      problems.push({ path: path ? `${place}: ${path}` : place, message })
    }
  }
  report(found)
  return { rows, report }
}

function readText(file: string, found: Violation[]): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    found.push({ path: '', message: `cannot be read: ${code === 'ENOENT' ? 'no such file' : code}` })
    return ''
  }
}

function parseToml(text: string, found: Violation[]): Record<string, unknown> {
  try {
    return parse(text)
  } catch (cause) {
    const { message, line, column } = cause as Error & { line?: number; column?: number }
    const [first] = message.replace(/^Invalid TOML document: /, '').split('\n')
    const place = line === undefined ? '' : ` (line ${line}, column ${column})`
    found.push({ path: '', message: `not TOML: ${first}${place}` })
    return {}
  }
}

function readRows<Schema extends z.ZodObject>(
  kind: string,
  value: unknown,
  schema: Schema,
  maxRows: number,
  found: Violation[],
): (z.infer<Schema> & { path: string })[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) {
    found.push({ path: kind, message: `expected tables that begin with [[${kind}]]` })
    return []
  }
  if (value.length > maxRows) found.push({ path: kind, message: `at most ${maxRows} rows; remove some` })
  return value.slice(0, maxRows).flatMap((row, n) => {
    const path = `${kind}[${n}]`
    const { data, error } = schema.safeParse(row)
    if (error !== undefined) found.push(...error.issues.flatMap((issue) => describe(issue, path, schema)))
    return error === undefined ? [{ ...data, path }] : []
  })
}

function describe(issue: z.core.$ZodIssue, row: string, { shape }: z.ZodObject): Violation[] {
  const path = issue.path.reduce<string>(
    (to, part) => (typeof part === 'number' ? `${to}[${part}]` : `${to}.${String(part)}`),
    row,
  )
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
  const known = issue.path.length === 0 ? Object.keys(shape) : []
  return issue.keys.map((key) => ({ path: `${path}.${key}`, message: unknownSetting(key, known) }))
}

const unknownSetting = (key: string, known: readonly string[]): string =>
  `unknown setting${suggestName(key, known) || '; remove it, or correct its name'}`
