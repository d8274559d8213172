import { readFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { isLibrary } from './libraries.ts'
import { stripTypes } from './strip-types.ts'

/** `src/` in a checkout, `dist/` in a package. */
const ROOT = new URL('../../', import.meta.url)
/** What sources end in there. */
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js'

/** `from '…'`, `import '…'` and `import('…')`; types are gone by then. */
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"\n]+)\1/g

/**
 * The modules that a page needs, as JavaScript, by their path below the root: the entry and whatever it imports, and
 * so on. What is not reached from an entry is never served.
 * @param entry without its extension: `web/board`
 * @throws Error for an import of what is not served
 */
export const moduleGraph = async (entry: string): Promise<Map<string, string>> => {
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

/** A file that is no module. */
export const readPlain = (path: string): Promise<string> => readFile(new URL(path, ROOT), 'utf8')

const readSource = async (path: string): Promise<string> => {
  const source = await readPlain(path)
  if (EXTENSION !== '.ts') return source
  await setImmediate() // a turn for each, so that no other request waits for all of them
  return stripTypes(source)
}

const pathOf = (specifier: string, importer: string): string => {
  const { href } = new URL(specifier, new URL(importer, ROOT))
  if (!href.startsWith(ROOT.href)) throw new Error(`${importer} imports ${specifier}, which lies outside`)
  return href.slice(ROOT.href.length)
}
