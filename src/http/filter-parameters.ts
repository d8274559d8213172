import { describeFilter } from '../filter-spec/describe-filter.ts'
import type { Filter, FilterSpec, ValueType } from '../filter-spec/filter.ts'
import type { Parameter } from './route.ts'

export const filterParameters = ({ filters }: Pick<FilterSpec, 'filters'>): Parameter[] =>
  [...filters.values()].map((filter) => ({
    name: filter.name,
    in: 'query',
    description: describeFilter(filter),
    schema: { anyOf: [...plainForm(filter), setForm(filter)] },
  }))

/** `not_in`, `exists` and a range without an alias have no plain form. */
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
