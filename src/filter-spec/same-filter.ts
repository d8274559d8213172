import type { FilterDefinition } from './filter.ts'

/** Ignores name and `indexed`. */
export const isSameFilter = (one: FilterDefinition, other: FilterDefinition): boolean =>
  MEANING.every((key) => one[key] === other[key])

const MEANING = ['path', 'op', 'value_type', 'alias_kind', 'on_missing'] as const
