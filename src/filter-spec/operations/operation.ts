import type { JsonValue } from '../../json/value.ts'
import type { Bitset } from '../../listing-index/bitset.ts'
import type { Column } from '../../listing-index/column.ts'
import { refuseParameter, type ValueType } from '../literals.ts'

export const ALIAS_KINDS = ['lower_bound', 'upper_bound'] as const

/** What an operation reads of a filter's definition. */
export type Operand = {
  name: string
  value_type: ValueType
  /** The end of the range that a plain value sets. */
  alias_kind: (typeof ALIAS_KINDS)[number] | null
}

/**
 * All that the project knows of one `op` of a filter spec. A parameter has a plain form (`H100`) or the operation's own set
 * form (`in:[H100,H200]`, docs/protocol.md#61-plain-form-and-set-form); both are parsed to a test of present values.
 */
export type Operation<Test> = ValueTest<Test> & {
  /** Whether a parameter has the set form. Any other text is a plain value. */
  isSetForm(raw: string): boolean
  /** How the set form begins, for OpenAPI. */
  pattern: string
  hasPlainForm(filter: Operand): boolean
  /** @throws EntrepotError `bad_request` in the deployed protocol's words */
  parsePlain(filter: Operand, text: string): Test
  /** @param payload what follows `op:`, trimmed. @throws as `parsePlain` */
  parseSet(filter: Operand, payload: string): Test
  /** Which listings the filter keeps. The words follow its path. */
  meaning(filter: Operand): string
  /** What may follow `NAME=`, in a few words. */
  syntax(filter: Operand): string
  /** Set forms for agents. */
  examples: string
  /** How the board asks for it. `values`: a list, a flag or a text; `text`: as the parameter takes it. */
  control: 'values' | 'exclusions' | 'range' | 'presence' | 'text'
  /** Whether its values are those that listings have, which facets count. */
  isByValue: boolean
}

/** How a test is applied to one listing, and to all rows of a segment. */
export type ValueTest<Test> = {
  /** docs/protocol.md#63-matching. `values`: one or more, no nulls. Another type never matches. */
  passes(test: Test, values: readonly JsonValue[]): boolean
  /** The same in a column of the index: fills `spare`, or returns a set that must not be written to. */
  match(test: Test, column: Column, spare: Bitset): Bitset
}

/** @throws EntrepotError `bad_request` */
export function refusePlainForm({ name }: Operand, op: string): never {
  const example = `${op}:[...] / exists:true`
  const why = 'single-value URL form is ambiguous'
  return refuseParameter(name, `${op} filter must be invoked via set-form (e.g. ${example}) — ${why}`)
}
