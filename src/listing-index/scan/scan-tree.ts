import type { PathTree } from './path-tree.ts'
import { RowText } from './row-text.ts'
import { wordsAt } from './text-pool.ts'

export type ScanNode = {
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

export function scanTree({ path, children }: PathTree): ScanNode {
  const members: WantedMember[] = []
  const indexes: { index: number; node: ScanNode }[] = []
  let every: ScanNode | null = null
  for (const { step, node: child } of children) {
    const node = scanTree(child)
    if (step.kind === 'member') members.push(wantedMember(step.name, node))
    else if (step.kind === 'index') indexes.push({ index: step.index, node })
    else every = node
  }
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
