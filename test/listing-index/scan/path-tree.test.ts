import test from 'ava'
import fc from 'fast-check'
import { resolvePath } from '../../../src/filter-spec/path.ts'
import { type JsonValue, parseJson } from '../../../src/json/value.ts'
import { pathTree, walkPaths } from '../../../src/listing-index/scan/path-tree.ts'
import { documentText, FILTERS } from '../model.ts'

test('path tree: it finds what each path finds alone', (t) => {
  const distinct = new Map(FILTERS.map(({ path, compiled }) => [path, compiled]))
  const paths = [...distinct.values()]
  const tree = pathTree(paths)
  fc.assert(
    fc.property(documentText, (text) => {
      const document = parseJson(text)
      const found: JsonValue[][] = paths.map(() => [])
      walkPaths(tree, document, (path, value) => found[path]!.push(value))
      t.deepEqual(
        found,
        paths.map((path) => resolvePath(path, document)),
      )
    }),
    { numRuns: 1000 },
  )
})
