import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import test from 'ava'

/** The rules of `docs/architecture.md` as data: the layer of each room, and the layers that it may import. */
const LAYERS: readonly {
  layer: string
  rooms: readonly string[]
  mayImport: readonly string[]
  mayImportTypes?: readonly string[]
}[] = [
  {
    layer: 'L0',
    rooms: [
      'json/',
      'wire/',
      'domain/',
      'filter-spec/',
      'listing-index/',
      'vocabulary/',
      'signing/',
      'client/',
      'errors.ts',
    ],
    mayImport: ['L0'],
  },
  { layer: 'L1', rooms: ['config/', 'log.ts'], mayImport: ['L0', 'L1'] },
  {
    layer: 'L2',
    rooms: ['store/', 'cache/', 'upstream/', 'limits/', 'tracing/', 'fleet/'],
    mayImport: ['L0', 'L1', 'L2'],
  },
  {
    layer: 'L3',
    rooms: ['registry/', 'gateway/'],
    mayImport: ['L0', 'L1', 'L3'],
    mayImportTypes: ['L2'],
  },
  { layer: 'L4', rooms: ['http/', 'cli/', 'web/', 'mcp/'], mayImport: ['L0', 'L1', 'L3', 'L4'] },
  {
    layer: 'L5',
    rooms: ['context/', 'service.ts', 'command-line.ts', 'bin.ts'],
    mayImport: ['L0', 'L1', 'L2', 'L3', 'L4', 'L5'],
  },
]

/** One package, one home. A home that ends in `/` is a folder. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  koa: ['http/'],
  '@koa/router': ['http/'],
  'koa-body': ['http/middleware/body.ts'],
  'proxy-addr': ['http/middleware/rate-limit.ts'],
  undici: ['upstream/'],
  ox: ['signing/', 'cli/signing/'],
  'tiny-secp256k1': ['signing/'],
  ioredis: ['store/redis/', 'cache/redis'],
  redis: ['fleet/'],
  'redis-om': ['fleet/'],
  'node:sqlite': ['store/sqlite/'],
  pino: ['log.ts'],
  '@opentelemetry/api': ['tracing/'],
  '@opentelemetry/sdk-trace-base': ['tracing/'],
  '@opentelemetry/exporter-trace-otlp-http': ['tracing/'],
  '@opentelemetry/resources': ['tracing/'],
  'prom-client': ['http/'],
  'rate-limiter-flexible': ['limits/'],
  'countries-list': ['vocabulary/places/'],
  'smol-toml': ['config/', 'cli/'],
  yaml: ['filter-spec/', 'cli/'],
  commander: ['command-line.ts', 'cli/'],
  '@modelcontextprotocol/sdk': ['mcp/'],
  preact: ['web/'],
  'preact/hooks': ['web/'],
  htm: ['web/'],
}

type Import = { file: string; specifier: string; isType: boolean }

const files = globSync('src/**/*.ts').map((file) => file.replaceAll('\\', '/').slice('src/'.length))
const sourceOf = (file: string): string => readFileSync(join('src', file), 'utf8')

function importsOf(file: string): Import[] {
  const pattern =
    /^\s*(?:import|export)\s+(type\s+)?[^'"]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|^\s*import\s+['"]([^'"]+)['"]/gm
  return [...sourceOf(file).matchAll(pattern)].map((match) => ({
    file,
    specifier: match[2] ?? match[3] ?? match[4] ?? '',
    isType: match[1] !== undefined,
  }))
}

const isIn = (file: string, rooms: readonly string[]): boolean =>
  rooms.some((room) =>
    room.endsWith('/') ? file.startsWith(room) : file === room || file.startsWith(`${room}`),
  )

const layerOf = (file: string) => LAYERS.find(({ rooms }) => isIn(file, rooms))
const roomOf = (file: string): string => file.slice(0, file.indexOf('/') + 1) || file

/** `@a/b/c.js` is a part of `@a/b`. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

const imports = files.flatMap(importsOf)
const local = imports.filter(({ specifier }) => specifier.startsWith('.'))
const target = ({ file, specifier }: Import): string =>
  normalize(join(dirname(file), specifier)).replaceAll('\\', '/')

test('every source file belongs to a layer', (t) => {
  t.true(files.length > 30)
  t.deepEqual(
    files.filter((file) => layerOf(file) === undefined),
    [],
  )
})

test('a layer imports only the layers that it may', (t) => {
  const forbidden = local.filter((one) => {
    const from = layerOf(one.file)
    const to = layerOf(target(one))
    if (from === undefined || to === undefined) return true
    return !from.mayImport.includes(to.layer) && !(one.isType && from.mayImportTypes?.includes(to.layer))
  })
  t.deepEqual(forbidden, [])
})

test('rooms of L2, L3 or L4 never import another room of their layer', (t) => {
  const crossing = local.filter((one) => {
    const layer = layerOf(one.file)?.layer
    const isShared = layer === 'L2' || layer === 'L3' || layer === 'L4'
    const isContract = one.isType && roomOf(one.file) === 'upstream/' && roomOf(target(one)) === 'cache/'
    if (!isShared || isContract) return false
    return layer === layerOf(target(one))?.layer && roomOf(one.file) !== roomOf(target(one))
  })
  t.deepEqual(crossing, [])
})

/** They run in browsers as they are: no Node in them, and no package. */
const PURE = [
  'web/',
  'client/',
  'domain/',
  'filter-spec/operations/',
  'filter-spec/allowed-values.ts',
  'filter-spec/literals.ts',
  'filter-spec/path.ts',
  'json/',
  'vocabulary/names.ts',
  'wire/',
]

test('no files import each other in a circle, types included', (t) => {
  const everywhere = globSync('{src,test,bench}/**/*.ts')
  const targets = new Map(
    everywhere.map((file) => [file, importedBy(file).filter((other) => everywhere.includes(other))]),
  )
  // A file whose imports all lie on no circle lies on none either.
  for (let count = -1; count !== targets.size; ) {
    count = targets.size
    for (const [file, others] of targets)
      if (!others.some((other) => targets.has(other))) targets.delete(file)
  }
  t.deepEqual([...targets.keys()], [])
})

function importedBy(file: string): string[] {
  const specifiers = readFileSync(file, 'utf8').matchAll(
    /(?:\bfrom|\bimport\(|^import)\s*['"](\.[^'"]+)['"]/gm,
  )
  return [...specifiers].map(([, specifier]) => normalize(join(dirname(file), specifier!)))
}

const EXPORT = /^export (?:async )?(?:abstract )?(?:const|let|function\*?|class|type|interface) (\w+)/gm
const exported = files.flatMap((file) =>
  [...sourceOf(file).matchAll(EXPORT)].map((match) => ({ file, name: match[1]! })),
)

test('every export of src is imported by another file', (t) => {
  const used = new Set(
    globSync('{src,test,bench,demo,scripts,examples}/**/*.{ts,js,mjs,html}').flatMap(namesUsed),
  )
  t.deepEqual(
    exported.filter(({ file, name }) => !used.has(`${join('src', file)} ${name}`)),
    [],
  )
})

/** `FILE NAME` of each name that a file imports; of a file that it imports whole, each word that it holds. */
function namesUsed(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const named = text.matchAll(/(?:import|export)\s+(?:type\s+)?(\{[^}]*\})\s*from\s*['"](\.[^'"]+)['"]/g)
  const whole = text.matchAll(/(?:import\(|import\s+\*\s+as\s+\w+\s+from)()\s*['"](\.[^'"]+)['"]/g)
  return [...named, ...whole].flatMap(([, names, specifier]) =>
    [...(names || text).matchAll(/\w+/g)].map(
      ([name]) => `${normalize(join(dirname(file), specifier!))} ${name}`,
    ),
  )
}

test('pages load only pure rooms', (t) => {
  const impure = local.filter((one) => one.file.startsWith('web/') && !one.isType && !isIn(target(one), PURE))
  t.deepEqual(impure, [])
})

test('every package has one home', (t) => {
  const strays = imports.filter(({ file, specifier }) => {
    const homes = HOMES[specifier] ?? HOMES[packageOf(specifier)]
    return homes !== undefined && !isIn(file, homes)
  })
  t.deepEqual(strays, [])
})

test('the environment is read in one place', (t) => {
  const readers = files.filter((file) =>
    /process\.env\b|import \{[^}]*\benv\b[^}]*\} from 'node:process'/.test(sourceOf(file)),
  )
  t.deepEqual(readers, ['config/settings.ts'])
})

test('relative imports name the .ts file', (t) => {
  const everywhere = globSync('{src,test,bench,demo}/**/*.ts')
  const wrong = everywhere.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*['"](\.[^'"]*)['"]/g)]
      .map((match) => match[1]!)
      .filter((specifier) => !specifier.endsWith('.ts') && !specifier.endsWith('.json'))
      .map((specifier) => `${file}: ${specifier}`),
  )
  t.deepEqual(wrong, [])
})
