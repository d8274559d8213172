import type { Path, PathStep } from '../../filter-spec/path.ts'
import { isJsonObject, type JsonValue } from '../../json/value.ts'

/** Paths merged by common prefixes, which are walked once. */
export type PathTree = {
  /** Number of the path that ends here, or -1. */
  path: number
  children: readonly { step: PathStep; inherited: boolean; node: PathTree }[]
}

export const pathTree = (paths: readonly Path[]): PathTree =>
  treeOf(paths.map((steps, path) => ({ path, steps })))

/** Calls `found` with the values that `resolvePath` gives for each path. */
export function walkPaths(
  tree: PathTree,
  value: JsonValue | undefined,
  found: (path: number, value: JsonValue) => void,
): void {
  if (value === null || value === undefined) return
  if (tree.path >= 0) found(tree.path, value)
  for (const { step, inherited, node } of tree.children) {
    if (step.kind === 'member') {
      if (isJsonObject(value) && (!inherited || Object.hasOwn(value, step.name))) {
        walkPaths(node, value[step.name], found)
      }
    } else if (!Array.isArray(value)) {
      if (step.kind === 'every') walkPaths(node, value, found)
    } else if (step.kind === 'index') walkPaths(node, value.at(step.index), found)
    else for (const element of value) walkPaths(node, element, found)
  }
}

type Rest = { path: number; steps: Path }

function treeOf(paths: readonly Rest[]): PathTree {
  const byStep = Map.groupBy(
    paths.filter(({ steps }) => steps.length > 0),
    ({ steps }) => JSON.stringify(steps[0]),
  )
  const children = Array.from(byStep.values(), (group) => {
    const step = group[0]!.steps[0]!
    const node = treeOf(group.map(({ path, steps }) => ({ path, steps: steps.slice(1) })))
    return { step, inherited: isInherited(step), node }
  })
  return { path: paths.find(({ steps }) => steps.length === 0)?.path ?? -1, children }
}

/** Only names on `Object.prototype` need an own-property check. */
const isInherited = (step: PathStep): boolean => step.kind === 'member' && step.name in Object.prototype
