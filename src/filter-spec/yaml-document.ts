import { type Document, LineCounter, parseDocument } from 'yaml'
import type { Violation } from '../errors.ts'
import { type CanonicalValue, Float } from './canonical-json.ts'
import { YAML_1_1_SCALARS } from './yaml-scalars.ts'

const MAX_YAML_CHARACTERS = 262_144
const MAX_YAML_DEPTH = 64
/** Aliases count each time. */
const MAX_YAML_VALUES = 20_000
const MAX_ALIASES = 1_000
/** One slip can cause a thousand; the first ones suffice. */
const MAX_SYNTAX_PROBLEMS = 20

type YamlReading = { value: CanonicalValue } | { problems: Violation[] }

/** Reads one YAML 1.1 document. A problem's path is a text position or a dotted path. Never throws. */
export function readYaml(text: string): YamlReading {
  if (text.length > MAX_YAML_CHARACTERS) {
    return { problems: [{ path: '', message: `is longer than ${MAX_YAML_CHARACTERS} characters` }] }
  }
  try {
    const lines = new LineCounter()
    const document = parse(text, lines)
    const problems = syntaxProblems(document, lines)
    if (problems.length > 0) return { problems }
    return toJsonValue(document.toJS({ mapAsMap: true, maxAliasCount: MAX_ALIASES }))
  } catch (cause) {
    // Too many aliases, a merge with a non-mapping, nesting that exhausts the stack, or our own limits.
    return { problems: [{ path: '', message: `cannot be read: ${(cause as Error).message}` }] }
  }
}

const parse = (text: string, lineCounter: LineCounter): Document.Parsed =>
  parseDocument(text, {
    version: '1.1',
    schema: 'failsafe',
    customTags: [...YAML_1_1_SCALARS, 'merge'],
    resolveKnownTags: false,
    prettyErrors: false,
    lineCounter,
  })

/** Warnings report unknown tags and directives. */
const syntaxProblems = (document: Document.Parsed, lines: LineCounter): Violation[] =>
  [...document.errors, ...document.warnings].slice(0, MAX_SYNTAX_PROBLEMS).map((problem) => {
    const { line, col } = lines.linePos(problem.pos[0])
    return { path: `line ${line}, column ${col}`, message: problem.message }
  })

function toJsonValue(document: unknown): YamlReading {
  const problems: Violation[] = []
  let values = 0

  const read = (value: unknown, path: readonly string[]): CanonicalValue => {
    if (++values > MAX_YAML_VALUES)
      throw new RangeError(`more than ${MAX_YAML_VALUES} values, aliases included`)
    if (path.length > MAX_YAML_DEPTH) throw new RangeError(`nested deeper than ${MAX_YAML_DEPTH}`)
    if (value instanceof Map) return Object.fromEntries([...value].map((entry) => readMember(entry, path)))
    if (Array.isArray(value)) return value.map((item, n) => read(item, [...path, String(n)]))
    return value as Exclude<CanonicalValue, object> | Float
  }

  const readMember = (
    [key, value]: [unknown, unknown],
    path: readonly string[],
  ): [string, CanonicalValue] => {
    const name = keyText(key)
    if (typeof key !== 'string') {
      problems.push({ path: path.join('.'), message: `key ${name} is no string: write it in quotes` })
    }
    return [name, read(value, [...path, name])]
  }

  const value = read(document, [])
  return problems.length > 0 ? { problems } : { value }
}

const keyText = (key: unknown): string =>
  key instanceof Float ? String(key.value) : typeof key === 'object' && key !== null ? '{…}' : String(key)
