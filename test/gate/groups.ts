import { globSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { basename } from 'node:path'

/**
 * Test files that the gate runs in one process, by the name of the group's file: they load the product once. A file that no
 * pattern names, or that `ALONE` names, has a process of its own.
 */
export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'unit-gateway': ['test/unit/{domain,gateway,limits,store,upstream}/**'],
  'unit-index': ['test/unit/{filter-spec,listing-index,registry}/**'],
  'unit-words': ['test/unit/{config,fleet,http,json,mcp,signing,vocabulary,web,wire}/**'],
  federation: ['test/integration/federation/**', 'test/integration/gateway/**'],
  http: ['test/integration/http/*'],
  'http-writes': [
    'test/integration/http/{middleware,publish}/**',
    'test/integration/{registry,security,vocabulary}/**',
  ],
  'http-routes': ['test/integration/http/routes/**'],
  'command-line': ['test/integration/cli/**'],
  clients: ['test/integration/{client,context,mcp}/**'],
  upstream: ['test/integration/upstream/{http,reading,snapshot}/**', 'test/integration/upstream/*'],
  stores: ['test/integration/store/sqlite/**'],
  redis: ['test/integration/store/redis/store.test.ts', 'test/integration/cache/redis.test.ts'],
  documents: ['test/system/{deploy,docs,web,examples}/**'],
  oracles: ['test/system/oracle/{feeds,views,walks}.test.ts'],
}

/** What `npm test` runs of `test/system/`. */
const QUICK: readonly string[] = [
  'test/system/e2e/smoke.test.ts',
  'test/system/fuzz/fuzz.test.ts',
  'test/system/oracle/oracle.test.ts',
]

/** Whether Node.js is all that a test file needs, and it is not long: `npm test` runs it. `npm run test:all` runs the others, too. */
export const isQuick = (file: string): boolean =>
  (/^test\/(unit|integration)\//.test(file) && !file.includes('redis')) || QUICK.includes(file)

/** These measure their process, replace what it shares, or wait for something before their tests are declared. */
const ALONE: readonly string[] = [
  'test/unit/domain/listing-identity.test.ts',
  'test/unit/listing-index/memory.test.ts',
  'test/unit/signing/eip191.test.ts',
  'test/unit/layers.test.ts',
  'test/integration/client/answers.test.ts',
  'test/integration/context/reload-memory.test.ts',
  'test/integration/http/connections.test.ts',
  'test/integration/http/stalled-readers.test.ts',
  'test/integration/http/openapi.test.ts',
  'test/integration/http/unsent-answers.test.ts',
  'test/integration/upstream/filter-spec-cache.test.ts',
  'test/integration/upstream/publisher-directory.test.ts',
  'test/system/docs/commands.test.ts',
]

/** Files that take long are started first, so that the end of a run is not one of them alone. */
const FIRST: readonly string[] = [
  'test/system/browser/board.test.ts',
  'test/system/browser/board-sources.test.ts',
  'test/system/browser/pages.test.ts',
  'test/system/docs/commands.test.ts',
  'test/system/e2e/kills.test.ts',
  'test/unit/signing/eip191.test.ts',
]

/** Paths from the root of the project, in order. A file of Redis is in its group only. */
const testFiles = (patterns: readonly string[]): string[] => {
  const ofRedis = patterns.some((pattern) => pattern.includes('redis'))
  return [...new Set(globSync(patterns))]
    .filter(
      (file) => file.endsWith('.test.ts') && !ALONE.includes(file) && file.includes('redis') === ofRedis,
    )
    .toSorted()
}

/** Declares the tests of a group's files. Called by the group's file, at once: the runner starts in the next turn. */
export function declareGroup(groupFile: string): void {
  const require = createRequire(import.meta.url)
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'ava' && context.parentURL !== LIMITED
        ? { url: LIMITED, shortCircuit: true }
        : next(specifier, context),
  })
  for (const file of testFiles(GROUPS[basename(groupFile, '.ts')] ?? [])) require(`../../${file}`)
}

const LIMITED = new URL('limited-test.ts', import.meta.url).href

/** Files for the runner in the order of their start, groups and files alone: those of `npm test`, or the others. */
export function gateFiles(part: 'quick' | 'rest'): string[] {
  const isWanted = (file: string): boolean => isQuick(file) === (part === 'quick')
  const groups = Object.entries(GROUPS).map(([name, patterns]) => ({ name, files: testFiles(patterns) }))
  const grouped = groups.flatMap(({ files }) => files)
  const twice = grouped.filter((file, n, all) => all.indexOf(file) !== n)
  if (twice.length > 0) throw new Error(`in two groups of test/gate/groups.ts: ${twice.join(', ')}`)
  const alone = globSync('test/**/*.test.ts').filter((file) => !grouped.includes(file))
  const wanted = groups.filter(({ files }) => files.some(isWanted))
  const mixed = wanted.filter(({ files }) => !files.every(isWanted))
  if (mixed.length > 0) throw new Error(`${mixed.map(({ name }) => name)}: only a part of it is quick`)
  return [
    ...FIRST.filter(isWanted),
    ...wanted.map(({ name }) => `test/gate/${name}.ts`),
    ...alone.filter((file) => isWanted(file) && !FIRST.includes(file)),
  ]
}
