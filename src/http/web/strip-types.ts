import { stripTypeScriptTypes } from 'node:module'

/** For checkouts: packages hold JavaScript. Mutes Node's warning, because stderr is for log lines. */
export function stripTypes(source: string): string {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
