import type { PathTree } from './path-tree.ts'
import { RowText } from './row-text.ts'
import { hashAt, wordsAt } from './text-pool.ts'

export type ScanNode = {
  path: number
  members: Members | null
  /** For every element, or the value itself if it is not an array. */
  every: ScanNode | null
  indexes: readonly { index: number; node: ScanNode }[]
}

export type WantedMember = {
  /** The quoted name in UTF-8, as words. */
  name: Int32Array
  nameLength: number
  hash: number
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
  return { path, members: members.length === 0 ? null : new Members(members), every, indexes }
}

export class Members {
  /** The first guess. */
  first: WantedMember | null = null
  readonly #mask: number
  readonly #buckets: readonly WantedMember[][]

  constructor(members: readonly WantedMember[]) {
    const size = 2 ** Math.ceil(Math.log2(members.length * 4))
    this.#mask = size - 1
    this.#buckets = Array.from({ length: size }, () => [])
    for (const member of members) this.#buckets[member.hash & this.#mask]!.push(member)
  }

  /** `start` and `end` include the quotes. */
  find(row: RowText, start: number, end: number): WantedMember | null {
    const bucket = this.#buckets[hashAt(row, start, end - start) & this.#mask]!
    for (let n = 0; n < bucket.length; n++) {
      const member = bucket[n]!
      if (member.nameLength === end - start && isNameAt(row, start, member)) return member
    }
    return null
  }
}

export const isNameAt = (row: RowText, at: number, { name, nameLength }: WantedMember): boolean =>
  row.isAt(at, name, 0, nameLength)

function wantedMember(name: string, node: ScanNode): WantedMember {
  const bytes = Buffer.from(`"${name}"`)
  const { length } = bytes
  const quoted = new RowText(length)
  quoted.load(bytes)
  return {
    name: wordsAt(quoted, 0, length),
    nameLength: length,
    hash: hashAt(quoted, 0, length),
    node,
    seenIn: 0,
    next: null,
  }
}
