import type { Filter, FilterDefinition } from './filter.ts'
import { compilePath } from './path.ts'

/** Checks only the path, unlike the loader. @throws SyntaxError that names the offending part */
export const compileFilter = (definition: FilterDefinition): Filter => ({
  ...definition,
  compiled: compilePath(definition.path),
})
