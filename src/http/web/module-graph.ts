import { readFileSync } from 'node:fs'
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
export const moduleGraph = (entry: string): Map<string, string> => {
  const modules = new Map<string, string>()
  const visit = (path: string): void => {
    if (modules.has(path)) return
    const source = readSource(path)
    modules.set(path, source)
    for (const [, , specifier = ''] of source.matchAll(IMPORT)) {
      if (specifier.startsWith('.')) visit(pathOf(specifier, path))
      else if (!isLibrary(specifier)) throw new Error(`${path} imports ${specifier}, which no page is served`)
    }
  }
  visit(entry + EXTENSION)
  return modules
}

/** A file that is no module. */
export const readPlain = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')

const readSource = (path: string): string =>
  EXTENSION === '.ts' ? stripTypes(readPlain(path)) : readPlain(path)

const pathOf = (specifier: string, importer: string): string => {
  const { href } = new URL(specifier, new URL(importer, ROOT))
  if (!href.startsWith(ROOT.href)) throw new Error(`${importer} imports ${specifier}, which lies outside`)
  return href.slice(ROOT.href.length)
}
