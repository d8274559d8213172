import { stripTypeScriptTypes } from 'node:module'

/**
 * The JavaScript of a TypeScript source, line for line. In a checkout only: a built package holds JavaScript.
 * Node still calls it experimental and says so on stderr, where only log lines should be.
 */
export const stripTypes = (source: string): string => {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
