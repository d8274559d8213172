import type { Path } from '../../filter-spec/path.ts'
import { RowText } from './row-text.ts'
import { wordsAt } from './text-pool.ts'

export type ScanNode = {
  /** Number of the path that ends here, or -1. */
  path: number
  /** Empty where no member is wanted. */
  members: readonly WantedMember[]
  /** The first wanted member of the last object: the first guess. */
  first: WantedMember | null
  /** For every element, or the value itself if it is not an array. */
  every: ScanNode | null
  indexes: readonly { index: number; node: ScanNode }[]
}

export type WantedMember = {
  /** The quoted name in UTF-8, as words. */
  name: Int32Array
  nameLength: number
  node: ScanNode
  /** The last object that had it. */
  seenIn: number
  /** The next wanted member in the last object. */
  next: WantedMember | null
}

/** Paths merged by common prefixes, which are scanned once. */
export function scanTree(paths: readonly Path[]): ScanNode {
  return nodeOf(paths.map((steps, path) => ({ path, steps })))
}

function nodeOf(paths: readonly { path: number; steps: Path }[]): ScanNode {
  const longer = paths.filter(({ steps }) => steps.length > 0)
  const members: WantedMember[] = []
  const indexes: { index: number; node: ScanNode }[] = []
  let every: ScanNode | null = null
  for (const group of Map.groupBy(longer, ({ steps }) => JSON.stringify(steps[0])).values()) {
    const step = group[0]!.steps[0]!
    const node = nodeOf(group.map(({ path, steps }) => ({ path, steps: steps.slice(1) })))
    if (step.kind === 'member') members.push(wantedMember(step.name, node))
    else if (step.kind === 'index') indexes.push({ index: step.index, node })
    else every = node
  }
  const path = paths.find(({ steps }) => steps.length === 0)?.path ?? -1
  return { path, members, first: null, every, indexes }
}

/** The wanted member whose quoted name is at `[start, end)`. */
export function findMember(
  members: readonly WantedMember[],
  row: RowText,
  start: number,
  end: number,
): WantedMember | null {
  for (let n = 0; n < members.length; n++) {
    const member = members[n]!
    if (member.nameLength === end - start && isNameAt(row, start, member)) return member
  }
  return null
}

export const isNameAt = (row: RowText, at: number, { name, nameLength }: WantedMember): boolean =>
  row.isAt(at, name, 0, nameLength)

function wantedMember(name: string, node: ScanNode): WantedMember {
  const bytes = Buffer.from(`"${name}"`)
  const { length } = bytes
  const quoted = new RowText(length)
  quoted.load(bytes)
  return { name: wordsAt(quoted, 0, length), nameLength: length, node, seenIn: 0, next: null }
}
