import { globSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { basename } from 'node:path'

/**
 * Test files that the gate runs in one process, by the name of the group's file: they load the product once. A file that no
 * pattern names, or that `ALONE` names, has a process of its own.
 */
export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'unit-gateway': ['test/unit/{cache,domain,gateway,limits,store,upstream}/**'],
  'unit-index': ['test/unit/{filter-spec,listing-index,registry}/**'],
  'unit-words': ['test/unit/{ci,config,fleet,http,json,mcp,signing,vocabulary,web,wire}/**'],
  federation: ['test/integration/federation/**', 'test/integration/gateway/**'],
  http: ['test/integration/http/*'],
  'http-writes': [
    'test/integration/http/{middleware,publish}/**',
    'test/integration/{registry,security,vocabulary}/**',
  ],
  'http-routes': ['test/integration/http/routes/**'],
  'command-line': ['test/integration/cli/**'],
  clients: ['test/integration/{client,context,mcp}/**'],
  upstream: ['test/integration/upstream/{copies,http,reading,snapshot}/**', 'test/integration/upstream/*'],
  stores: [
    'test/integration/store/redis/store.test.ts',
    'test/integration/store/sqlite/**',
    'test/integration/cache/**',
  ],
  documents: ['test/system/{deploy,docs,web,examples}/**'],
  oracle: ['test/system/oracle/**'],
}

/** These measure their process, replace what it shares, or wait for something before their tests are declared. */
const ALONE: readonly string[] = [
  'test/unit/domain/listing-identity.test.ts',
  'test/unit/listing-index/memory.test.ts',
  'test/unit/signing/eip191.test.ts',
  'test/unit/layers.test.ts',
  'test/integration/context/reload-memory.test.ts',
  'test/integration/http/connections.test.ts',
  'test/integration/http/stalled-readers.test.ts',
  'test/integration/http/routes/authority.test.ts',
  'test/integration/http/openapi.test.ts',
  'test/integration/http/unsent-answers.test.ts',
  'test/integration/upstream/filter-spec-cache.test.ts',
  'test/integration/upstream/publisher-directory.test.ts',
  'test/system/deploy/image.test.ts',
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

/** Paths from the root of the project, in order. */
const testFiles = (patterns: readonly string[]): string[] =>
  globSync(patterns)
    .filter((file) => file.endsWith('.test.ts') && !ALONE.includes(file))
    .toSorted()

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

/** Files for the runner in the order of their start: those of the groups, and those alone. */
export function gateFiles(): string[] {
  const grouped = Object.values(GROUPS).map(testFiles)
  const twice = grouped.flat().filter((file, n, all) => all.indexOf(file) !== n)
  if (twice.length > 0) throw new Error(`in two groups of test/gate/groups.ts: ${twice.join(', ')}`)
  const alone = globSync('test/**/*.test.ts').filter((file) => !grouped.flat().includes(file))
  const groups = Object.keys(GROUPS).map((name) => `test/gate/${name}.ts`)
  return [...new Set([...FIRST, ...groups, ...alone])]
}
