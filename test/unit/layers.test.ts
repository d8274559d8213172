import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import test from 'ava'

type Layer = { folders: readonly string[]; mayImport: readonly string[]; mayImportTypes?: string }

/** The rules of `docs/architecture.md` as data: the folders and files of each layer, and the layers that it may import. */
const LAYERS: Readonly<Record<string, Layer>> = {
  L0: {
    folders: 'client domain errors.ts filter-spec json listing-index signing vocabulary wire'.split(' '),
    mayImport: ['L0'],
  },
  L1: { folders: ['config', 'log.ts'], mayImport: ['L0', 'L1'] },
  L2: {
    folders: ['cache', 'fleet', 'limits', 'store', 'tracing', 'upstream'],
    mayImport: ['L0', 'L1', 'L2'],
  },
  L3: { folders: ['gateway', 'registry'], mayImport: ['L0', 'L1', 'L3'], mayImportTypes: 'L2' },
  L4: { folders: ['cli', 'http', 'mcp', 'web'], mayImport: ['L0', 'L1', 'L3', 'L4'] },
  L5: {
    folders: ['bin.ts', 'command-line.ts', 'context', 'service.ts', 'stop-signal.ts'],
    mayImport: ['L0', 'L1', 'L2', 'L3', 'L4', 'L5'],
  },
}

/** Browsers run these as they are: no Node in them, and no package. */
const PURE =
  /^src\/((web|client|domain|json|wire|filter-spec\/operations)\/|filter-spec\/(allowed-values|literals|path|schema-id)\.|vocabulary\/names\.)/

const IMPORT =
  /^\s*(?:import|export)\s+(type\s+)?(?:[^'"]*?from\s+)?['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]\s*\)/gm

type Import = { file: string; target: string; isType: boolean }

const files = globSync('{src,test,bench}/**/*.ts')
const imports = files.flatMap((file): Import[] =>
  [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, type, specifier, dynamic]) => {
    return { file, target: normalize(join(dirname(file), specifier ?? dynamic!)), isType: type !== undefined }
  }),
)
const ofSource = imports.filter(({ file }) => file.startsWith('src/'))

const folderOf = (file: string): string => file.split('/')[1]!
const layerOf = (file: string): string | undefined =>
  Object.keys(LAYERS).find((layer) => LAYERS[layer]!.folders.includes(folderOf(file)))

test('layers: every source file belongs to one', (t) => {
  const outside = files.filter((file) => file.startsWith('src/') && layerOf(file) === undefined)
  t.deepEqual(outside, [])
})

test('layers: each imports only those that it may, and a folder of L2 to L4 no other of its layer', (t) => {
  const forbidden = ofSource.filter(({ file, target, isType }) => {
    const [from, to] = [layerOf(file)!, layerOf(target)!]
    const { mayImport, mayImportTypes } = LAYERS[from]!
    if (!mayImport.includes(to)) return !(isType && to === mayImportTypes)
    if (from !== to || folderOf(file) === folderOf(target) || !/L[234]/.test(from)) return false
    return !(isType && folderOf(file) === 'upstream' && folderOf(target) === 'cache')
  })
  t.true(ofSource.length > 1000)
  t.deepEqual(forbidden, [])
})

test('layers: pages load only what browsers can run', (t) => {
  const impure = ofSource.filter(
    ({ file, target, isType }) => folderOf(file) === 'web' && !isType && !PURE.test(target),
  )
  t.deepEqual(impure, [])
})

test('layers: no files import each other in a circle, types included', (t) => {
  const targets = new Map(files.map((file): [string, string[]] => [file, []]))
  for (const { file, target } of imports) if (targets.has(target)) targets.get(file)!.push(target)
  // A file whose imports all lie on no circle lies on none either.
  for (let count = -1; count !== targets.size; ) {
    count = targets.size
    for (const [file, others] of targets)
      if (!others.some((other) => targets.has(other))) targets.delete(file)
  }
  t.deepEqual([...targets.keys()], [])
})
