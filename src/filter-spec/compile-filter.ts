import type { Filter, FilterDefinition } from './filter.ts'
import { compilePath } from './path.ts'

/**
 * A definition made ready to be asked, whatever else the loader would say of it: for filters that upstreams declare.
 * @throws SyntaxError that names the part of the path that is not of our dialect
 */
export const compileFilter = (definition: FilterDefinition): Filter => ({
  ...definition,
  compiled: compilePath(definition.path),
})
