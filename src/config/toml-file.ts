import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import type { z } from 'zod'
import { suggestName } from '../domain/nearest-name.ts'
import type { Violation } from '../errors.ts'

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
    if (!Object.hasOwn(kinds, key)) fail(key, unknownName(key, Object.keys(kinds)))
  const readRows = <Schema extends z.ZodObject>(kind: string, schema: Schema): Placed<z.infer<Schema>>[] => {
    const value = document[kind] ?? []
    const unknown = (key: string, { length }: readonly PropertyKey[]): string =>
      unknownName(key, length === 0 ? Object.keys(schema.shape) : [])
    if (!Array.isArray(value)) fail(kind, `expected tables that begin with [[${kind}]]`)
    else if (value.length > maxRows) fail(kind, `at most ${maxRows} rows; remove some`)
    return (Array.isArray(value) ? value.slice(0, maxRows) : []).flatMap((row, n) => {
      const path = `${kind}[${n}]`
      const { data, error } = schema.safeParse(row)
      if (error !== undefined)
        for (const problem of violations(error, [kind, n], unknown)) fail(problem.path, problem.message)
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

/**
 * What zod found, in words of TOML.
 * @param at path of what was read
 * @param unknown what is wrong with a name that a table has no setting for
 */
export function violations(
  { issues }: z.ZodError,
  at: readonly PropertyKey[],
  unknown: (key: string, path: readonly PropertyKey[]) => string,
): Violation[] {
  return issues.flatMap((issue) => {
    const path = [...at, ...issue.path]
    if (issue.code !== 'unrecognized_keys') return [{ path: dotted(path), message: describeIssue(issue) }]
    return issue.keys.map((key) => ({ path: dotted([...path, key]), message: unknown(key, issue.path) }))
  })
}

/** zod's types, in words of TOML. */
const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'a section',
  string: 'a text in quotes',
}

function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined && / undefined$/.test(issue.message)
        ? 'is missing; add it'
        : `expected ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `expected one of ${issue.values.join(', ')}`
    case 'too_small':
      if (issue.origin === 'string') return 'is empty'
      return issue.inclusive === false
        ? `expected more than ${issue.minimum}`
        : `expected ${issue.minimum} or more`
    case 'too_big':
      if (issue.origin === 'string') return `expected ${issue.maximum} characters or less`
      return issue.origin === 'array'
        ? `at most ${issue.maximum} entries; remove some`
        : `expected ${issue.maximum} or less`
    default:
      return issue.message
  }
}

/** `['upstreams', 0, 'url']` → `upstreams[0].url`. */
const dotted = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (to, part) => (typeof part === 'number' ? `${to}[${part}]` : to ? `${to}.${String(part)}` : String(part)),
    '',
  )

export const unknownName = (key: string, names: readonly string[]): string =>
  `unknown setting${suggestName(key, names) || '; remove it, or correct its name'}`

const HEADER = /^\s*(\[\[?)\s*([^\]]+?)\s*\]/
const KEY = /^\s*(?:"([^"]*)"|([\w-]+))\s*([=.])/

/**
 * Line of a dotted path such as `upstreams[1].url` in a TOML text, from 1: of its key, or else of its table.
 * A path inside a list or an inline table has the line of the key that holds it. `null` without any.
 */
export function lineOf(text: string, path: string): number | null {
  const target = path.replace(/\[(\d+)\]/g, '.$1')
  const entries = new Map<string, number>()
  let table = ''
  let holderLine: number | null = null
  for (const [n, line] of text.split('\n').entries()) {
    const [, brackets, name = ''] = HEADER.exec(line) ?? []
    if (brackets === '[[') {
      const index = entries.get(name) ?? 0
      entries.set(name, index + 1)
      table = `${name}.${index}`
    } else if (brackets === '[') table = name
    const [, quoted, bare, sign] = brackets === undefined ? (KEY.exec(line) ?? []) : []
    const key = quoted ?? bare
    const here = key === undefined ? table : table === '' ? key : `${table}.${key}`
    if (here === target && (key !== undefined || brackets !== undefined)) return n + 1
    if (sign === '=' && target.startsWith(`${here}.`)) holderLine = n + 1
    if (brackets !== undefined && target.startsWith(`${table}.`)) holderLine ??= n + 1
    if (brackets !== undefined && table.startsWith(`${target}.`)) holderLine ??= n + 1
  }
  return holderLine
}
