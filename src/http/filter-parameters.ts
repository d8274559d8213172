import { describeFilter } from '../filter-spec/describe-filter.ts'
import type { Filter, FilterSpec, ValueType } from '../filter-spec/filter.ts'
import type { Parameter } from './route.ts'

/** The filters of a spec as query parameters, each with its plain and its set form. */
export const filterParameters = ({ filters }: Pick<FilterSpec, 'filters'>): Parameter[] =>
  [...filters.values()].map((filter) => ({
    name: filter.name,
    in: 'query',
    description: describeFilter(filter),
    schema: { anyOf: [...plainForm(filter), setForm(filter)] },
  }))

/** What a value may be without a set form; `not_in`, `exists` and a range without alias have none. */
const plainForm = ({ op, alias_kind, value_type }: Filter): { type: string }[] =>
  op === 'in' || (op === 'range' && alias_kind !== null) ? [{ type: JSON_TYPE[value_type] }] : []

const JSON_TYPE: Readonly<Record<ValueType, string>> = {
  string: 'string',
  address: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
}

const setForm = ({ op }: Filter): { type: 'string'; pattern: string } => ({
  type: 'string',
  pattern: op === 'exists' ? '^exists:' : op === 'range' ? '^range:[[(]' : `^${op}:\\[`,
})
