import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import { isLibrary } from './assets.ts'

/** `src/` in a checkout, `dist/` in a package. */
const ROOT = new URL('../..', import.meta.url)
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js'

/** `from '…'`, `import '…'` and `import('…')`; types are stripped before. */
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"\n]+)\1/g

/**
 * The entry and its imports as JavaScript, by path below the root. No other module is served.
 * @param entry without extension: `web/board`
 * @throws Error for an import that is not served
 */
export async function moduleGraph(entry: string): Promise<Map<string, string>> {
  const modules = new Map<string, string>()
  const open = [entry + EXTENSION]
  for (let path = open.shift(); path !== undefined; path = open.shift()) {
    if (modules.has(path)) continue
    const source = await readSource(path)
    modules.set(path, source)
    for (const [, , specifier = ''] of source.matchAll(IMPORT)) {
      if (specifier.startsWith('.')) open.push(pathOf(specifier, path))
      else if (!isLibrary(specifier)) throw new Error(`${path} imports ${specifier}, which no page is served`)
    }
  }
  return modules
}

export const readPlain = (path: string): Promise<string> => readFile(new URL(path, ROOT), 'utf8')

async function readSource(path: string): Promise<string> {
  const source = await readPlain(path)
  if (EXTENSION !== '.ts') return source
  await setImmediate() // yields, so that other requests do not wait for all modules
  return stripTypes(source)
}

function pathOf(specifier: string, importer: string): string {
  const { href } = new URL(specifier, new URL(importer, ROOT))
  if (!href.startsWith(ROOT.href)) throw new Error(`${importer} imports ${specifier}, which lies outside`)
  return href.slice(ROOT.href.length)
}

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
