import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { setImmediate } from 'node:timers/promises'

/** `src/` in a checkout, `dist/` in a package. */
const ROOT = new URL('../..', import.meta.url)
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js'

/** The only ones that pages may import, with their paths. */
export const LIBRARIES: ReadonlyMap<string, string> = new Map([
  ['preact', 'libraries/preact.js'],
  ['preact/hooks', 'libraries/preact-hooks.js'],
  ['htm', 'libraries/htm.js'],
])

/** `from '…'`, `import '…'` and `import('…')`; types are stripped before. */
const IMPORT = /(?:\bfrom\s*|\bimport\s*(\()?\s*)(['"])([^'"\n]+)\2/g

type ModuleGraph = {
  /** The entry, first, and its imports as JavaScript, by path below the root. No other module is served. */
  modules: ReadonlyMap<string, string>
  /** Paths of the libraries that load with the entry, not later by `import()`. */
  libraries: ReadonlySet<string>
}

/**
 * @param entry without extension: `web/board`
 * @throws Error for an import that is not served
 */
export async function moduleGraph(entry: string): Promise<ModuleGraph> {
  const modules = new Map<string, string>()
  const libraries = new Set<string>()
  const open = [entry + EXTENSION]
  for (let path = open.shift(); path !== undefined; path = open.shift()) {
    if (modules.has(path)) continue
    const source = await readSource(path)
    modules.set(path, source)
    for (const [, isLater, , specifier = ''] of source.matchAll(IMPORT)) {
      const library = LIBRARIES.get(specifier)
      if (specifier.startsWith('.')) open.push(pathOf(specifier, path))
      else if (library === undefined) throw new Error(`${path} imports ${specifier}, which no page is served`)
      else if (isLater === undefined) libraries.add(library)
    }
  }
  return { modules, libraries }
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
