import { type Document, LineCounter, parseDocument, type ScalarTag } from 'yaml'
import type { Violation } from '../errors.ts'
import { type CanonicalValue, Float } from './etag.ts'

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
      problems.push({ path: path.join('.'), message: `key ${name} is not a string: write it in quotes` })
    }
    return [name, read(value, [...path, name])]
  }

  const value = read(document, [])
  return problems.length > 0 ? { problems } : { value }
}

const keyText = (key: unknown): string =>
  key instanceof Float ? String(key.value) : typeof key === 'object' && key !== null ? '{…}' : String(key)

/**
 * As the deployed protocol resolves them, on which etags depend: `yes` is true, `y` a string, `010` 8,
 * `1_000` 1000, `1:30` 90, `1e3` a string, `1.0e+3` a float. Dates, `.inf` and `.nan` are errors.
 */
const YAML_1_1_SCALARS: ScalarTag[] = [
  {
    tag: 'tag:yaml.org,2002:null',
    default: true,
    test: /^(?:~|null|Null|NULL|)$/,
    resolve: () => null,
  },
  {
    tag: 'tag:yaml.org,2002:bool',
    default: true,
    test: /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/,
    resolve: (text) => /^(?:yes|true|on)$/i.test(text),
  },
  {
    tag: 'tag:yaml.org,2002:float',
    default: true,
    test: /^(?:[-+]?\d[\d_]*\.[\d_]*(?:[eE][-+]\d+)?|\.\d[\d_]*(?:[eE][-+]\d+)?|[-+]?\d[\d_]*(?::[0-5]?\d)+\.[\d_]*)$/,
    resolve: (text, onError) => finiteFloat(text, onError),
  },
  {
    tag: 'tag:yaml.org,2002:float',
    default: true,
    test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
    resolve: (text, onError) => refuse(text, onError, 'is not a JSON number'),
  },
  {
    tag: 'tag:yaml.org,2002:int',
    default: true,
    test: /^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][\d_]*|0x[\da-fA-F_]+|[1-9][\d_]*(?::[0-5]?\d)+)$/,
    resolve: (text) => integer(text),
  },
  {
    tag: 'tag:yaml.org,2002:timestamp',
    default: true,
    test: /^(?:\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)$/,
    resolve: (text, onError) => refuse(text, onError, 'is a date: write it in quotes'),
  },
]

type OnError = (message: string) => void

function refuse(text: string, onError: OnError, why: string): string {
  onError(`'${text}' ${why}`)
  return text
}

function finiteFloat(text: string, onError: OnError): Float | string {
  const value = parts(text).reduce((sum, part) => sum * 60 + Number(part), 0)
  if (!Number.isFinite(value)) return refuse(text, onError, 'is not a JSON number')
  return new Float(text.startsWith('-') ? -value : value)
}

function integer(text: string): number | bigint {
  const size = parts(text).reduce((sum, part) => sum * 60n + BigInt(octalPrefixed(part)), 0n)
  const value = text.startsWith('-') ? -size : size
  const double = Number(value)
  return Number.isSafeInteger(double) ? double : value
}

const parts = (text: string): string[] => text.replace(/^[-+]|_/g, '').split(':')

const octalPrefixed = (digits: string): string => digits.replace(/^0(?=\d)/, '0o')
