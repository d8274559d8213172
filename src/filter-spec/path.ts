import { isJsonObject, type JsonValue } from '../json/value.ts'
import type { Scalar } from './scalar.ts'

/** A negative index counts from the end. */
export type PathStep =
  | { kind: 'member'; name: string }
  | { kind: 'index'; index: number }
  | { kind: 'every' }
  | DerivedStep

/** The field of a derived value that is JSON members for readers, instead of what filters test. */
export const MEANING = 'meaning'
/** Fields of derived values by which prices are divided: GB of GPU memory, and dense FP16 TFLOPS, of the whole offer. */
export const SIZE_FIELDS = { gb: 'memory_gb', tflop: 'fp16_tflops' } as const

/** A value that is made of a whole listing of one source, instead of one of its members. */
export type DerivedStep = {
  kind: 'derived'
  field: string
  /** Of what the value is made by: equal keys have equal values. */
  version: string
  source: string
  valueIn: (listing: JsonValue, field: string, source: string) => Scalar | null
}

export type Path = readonly PathStep[]

export const MAX_PATH_CHARACTERS = 1_000
/** As deep as a listing nests. */
const MAX_STEPS = 32
/** `[*]` of a single value is that value: many of them in a row would cost time and memory in every listing. */
const MAX_EVERY = 4

/** Refuses bare names as the deployed parser does: docs/protocol.md#64-paths. @throws SyntaxError */
export function compilePath(text: string): Path {
  if (text === '') throw new SyntaxError('path is empty')
  if (text.length > MAX_PATH_CHARACTERS) {
    throw new SyntaxError(`path is longer than ${MAX_PATH_CHARACTERS} characters`)
  }
  const steps: PathStep[] = []
  let at = text.startsWith('$') ? 1 : 0
  while (at < text.length) {
    const token = stepAt(text, at)
    if (token === null) throw new SyntaxError(refusal(text, at))
    steps.push(token.step)
    at = token.end
  }
  if (steps.length > MAX_STEPS) throw new SyntaxError(`path has more than ${MAX_STEPS} steps`)
  if (steps.filter(({ kind }) => kind === 'every').length > MAX_EVERY)
    throw new SyntaxError(`path has [*] more than ${MAX_EVERY} times`)
  return steps
}

/** Drops nulls. Own properties only; every element of a non-array is the value itself. */
export function resolvePath(path: Path, document: JsonValue): JsonValue[] {
  let values: JsonValue[] = document === null ? [] : [document]
  for (const step of path) values = follow(step, values)
  return values
}

type Token = { step: PathStep; end: number }

const NAME = /@?[A-Za-z_][A-Za-z0-9_@-]*|(?:0|[1-9]\d*)(?![A-Za-z0-9_@-])/y
const INDEX = /\[(-?\d{1,9})\]/y
const EVERY = /\[\*\]/y
const QUOTED = /\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/sy
/** Words of the deployed parser's own grammar. */
const NEEDS_QUOTES = /^(?:true|false)|^where(?:not)?$/

const stepAt = (text: string, at: number): Token | null =>
  text[at] === '['
    ? bracketAt(text, at)
    : text[at] === '.'
      ? nameAt(text, at + 1)
      : at === 0
        ? nameAt(text, 0)
        : null

function bracketAt(text: string, at: number): Token | null {
  const every = matchAt(EVERY, text, at)
  if (every !== null) return { step: { kind: 'every' }, end: at + every[0].length }
  const index = matchAt(INDEX, text, at)
  if (index !== null) return { step: { kind: 'index', index: Number(index[1]) }, end: at + index[0].length }
  const quoted = matchAt(QUOTED, text, at)
  if (quoted === null) return null
  const name = (quoted[1] ?? quoted[2] ?? '').replace(/\\(.)/gs, '$1')
  return { step: { kind: 'member', name }, end: at + quoted[0].length }
}

function nameAt(text: string, at: number): Token | null {
  const name = matchAt(NAME, text, at)?.[0]
  return name === undefined || NEEDS_QUOTES.test(name)
    ? null
    : { step: { kind: 'member', name }, end: at + name.length }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function refusal(text: string, at: number): string {
  const part = text.slice(at)
  const name = /^\.?([A-Za-z_]+)/.exec(part)?.[1]
  return name !== undefined && NEEDS_QUOTES.test(name)
    ? `cannot read '${part}' in path '${text}': write ['${name}'] for this name`
    : `cannot read '${part}' in path '${text}': a path is made of .name, ['name'], [n], [-n] and [*]`
}

function follow(step: PathStep, from: readonly JsonValue[]): JsonValue[] {
  const values: JsonValue[] = []
  const add = (value: JsonValue | undefined) => {
    if (value !== undefined && value !== null) values.push(value)
  }
  for (const value of from) {
    if (step.kind === 'member') {
      if (isJsonObject(value) && Object.hasOwn(value, step.name)) add(value[step.name])
    } else if (step.kind === 'index') {
      if (Array.isArray(value)) add(value.at(step.index))
    } else if (step.kind === 'derived') add(step.valueIn(value, step.field, step.source))
    else if (Array.isArray(value)) value.forEach(add)
    else add(value)
  }
  return values
}

/** The path in listings of that source. */
export function pathIn(path: Path, source: string): Path {
  const [step] = path
  return step?.kind === 'derived' && step.source !== source ? [{ ...step, source }] : path
}

const KEYS = new WeakMap<Path, string>()

/** Equal for paths to the same place, however they are written, and for a derived value in any source. */
export function pathKey(path: Path): string {
  const cached = KEYS.get(path)
  if (cached !== undefined) return cached
  const [step] = path
  const key = step?.kind === 'derived' ? `${step.field} ${step.version}` : JSON.stringify(path)
  KEYS.set(path, key)
  return key
}
