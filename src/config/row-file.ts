import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import type { z } from 'zod'
import { suggestName } from '../domain/nearest-name.ts'
import type { Violation } from '../errors.ts'
import { lineOf } from './toml-lines.ts'

/** A row, and where it is. */
type Placed<Data> = Data & {
  /** Such as `gpus[3]`. */
  path: string
  /** Of one of its members, for problems: file, line and path. */
  place: (member: string) => string
}

export type Rows<Kinds extends Record<string, z.ZodObject>> = {
  [Kind in keyof Kinds]: Placed<z.infer<Kinds[Kind]>>[]
}

/** The good rows of a TOML file of lists of tables, such as `[[gpus]]`, by their names. Problems have file and line. */
export function readRowFile<Kinds extends Record<string, z.ZodObject>>(
  file: string,
  kinds: Kinds,
  maxRows: number,
  problems: Violation[],
): Rows<Kinds> {
  const fail = (path: string, message: string): void =>
    void problems.push({ path: placeIn(file, text, path), message })
  let text = ''
  let document: Record<string, unknown> = {}
  try {
    text = readFileSync(file, 'utf8')
    document = parse(text)
  } catch (cause) {
    fail('', describeFailure(cause))
  }
  for (const key of Object.keys(document))
    if (!Object.hasOwn(kinds, key)) fail(key, unknownSetting(key, Object.keys(kinds)))
  const readRows = <Schema extends z.ZodObject>(kind: string, schema: Schema): Placed<z.infer<Schema>>[] => {
    const value = document[kind] ?? []
    if (!Array.isArray(value)) fail(kind, `expected tables that begin with [[${kind}]]`)
    else if (value.length > maxRows) fail(kind, `at most ${maxRows} rows; remove some`)
    return (Array.isArray(value) ? value.slice(0, maxRows) : []).flatMap((row, n) => {
      const path = `${kind}[${n}]`
      const { data, error } = schema.safeParse(row)
      for (const issue of error?.issues ?? [])
        for (const problem of describe(issue, path, schema)) fail(problem.path, problem.message)
      const place = (member: string): string => placeIn(file, text, `${path}.${member}`)
      return error === undefined ? [{ ...data, path, place }] : []
    })
  }
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, schema]) => [kind, readRows(kind, schema)]),
  ) as Rows<Kinds>
}

/** `FILE:LINE: PATH`, as far as they are known. */
export function placeIn(file: string, text: string, path: string): string {
  const line = path === '' ? null : lineOf(text, path)
  const place = line === null ? file : `${file}:${line}`
  return path === '' ? place : `${place}: ${path}`
}

/** Of a TOML file that cannot be read or parsed. */
export function describeFailure(cause: unknown): string {
  const { code, message, line, column } = cause as NodeJS.ErrnoException & { line?: number; column?: number }
  if (code !== undefined) return `cannot be read: ${code === 'ENOENT' ? 'no such file' : code}`
  const [first] = message.replace(/^Invalid TOML document: /, '').split('\n')
  return `not TOML: ${first}${line === undefined ? '' : ` (line ${line}, column ${column})`}`
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
