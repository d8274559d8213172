import type { PathTree } from './path-tree.ts'
import { areSame, sampleHash } from './text-pool.ts'

/** A `PathTree` made ready for reading bytes: what is wanted of a value, by the kind of value. */
export type ScanNode = {
  /** Number of the path that ends here, `-1` where none does. */
  path: number
  /** `null` where no member is wanted. */
  members: Members | null
  /** What is wanted of every element, or of the value itself where it is no array. */
  every: ScanNode | null
  indexes: readonly { index: number; node: ScanNode }[]
}

/** A member that is wanted. */
export type WantedMember = {
  /** Its name and both quotes, in UTF-8. */
  name: Uint8Array
  node: ScanNode
  /** The last object that it was found in. */
  seenIn: number
  /** The one that came next in the last object. */
  next: WantedMember | null
}

export const scanTree = ({ path, children }: PathTree): ScanNode => {
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

/** Wanted members, to be found by name. */
export class Members {
  /** Where to begin guessing. */
  first: WantedMember | null = null
  readonly #mask: number
  readonly #buckets: readonly WantedMember[][]

  constructor(members: readonly WantedMember[]) {
    const size = 2 ** Math.ceil(Math.log2(members.length * 4))
    this.#mask = size - 1
    this.#buckets = Array.from({ length: size }, () => [])
    for (const member of members) {
      this.#buckets[sampleHash(member.name, 0, member.name.length) & this.#mask]!.push(member)
    }
  }

  /** The one whose name stands, with its quotes, from `start` to before `end`; `null` where it is not wanted. */
  find(bytes: Uint8Array, start: number, end: number): WantedMember | null {
    const bucket = this.#buckets[sampleHash(bytes, start, end) & this.#mask]!
    for (let n = 0; n < bucket.length; n++) {
      const { name } = bucket[n]!
      if (name.length === end - start && areSame(name, 0, bytes, start, name.length)) return bucket[n]!
    }
    return null
  }
}

const wantedMember = (name: string, node: ScanNode): WantedMember => ({
  name: Buffer.from(`"${name}"`),
  node,
  seenIn: 0,
  next: null,
})
