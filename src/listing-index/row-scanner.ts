import type { Scalar } from '../filter-spec/criteria.ts'
import type { FoundValues } from './found-values.ts'
import type { PathTree } from './path-tree.ts'
import { readScalar } from './read-scalar.ts'
import { type Members, type ScanNode, scanTree, type WantedMember } from './scan-tree.ts'
import {
  BACKSLASH,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipScalar,
  skipSpace,
  skipValue,
} from './skip-json.ts'
import { areSame, TextPool } from './text-pool.ts'

/** From here on a byte is no ASCII. */
const BEYOND_ASCII = 0x80

/**
 * Goes through the bytes of JSON texts once, reading only what is wanted. It gives up where that would take more than
 * comparing bytes: a name with an escape or beyond ASCII, a wanted name that comes twice.
 */
export class RowScanner {
  readonly #root: ScanNode
  readonly #texts = new TextPool()
  #bytes: Uint8Array = new Uint8Array(0)
  #found!: FoundValues
  #gaveUp = false
  /** Numbers the objects that are looked into. */
  #object = 0

  constructor(tree: PathTree) {
    this.#root = scanTree(tree)
  }

  /** Fills `found`; `false` where it gave up, and `found` is not complete. */
  scan(bytes: Uint8Array, found: FoundValues): boolean {
    this.#bytes = bytes
    this.#found = found
    this.#gaveUp = false
    found.count = 0
    this.#readValue(this.#root, skipSpace(bytes, 0))
    return !this.#gaveUp
  }

  /** This and all that follow read what stands at `at` and give the position behind it. */
  #readValue(node: ScanNode, at: number): number {
    const first = this.#bytes[at]
    if (node.every !== null && first !== OPEN_BRACKET) this.#readValue(node.every, at)
    if (first === QUOTE) return node.path < 0 ? skipValue(this.#bytes, at) : this.#readText(node.path, at)
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return this.#readScalar(node.path, at)
    if (node.path >= 0) this.#found.add(node.path, null)
    if (first === OPEN_BRACE && node.members !== null) return this.#readObject(node.members, at)
    if (first === OPEN_BRACKET) {
      for (const { index, node: element } of node.indexes) this.#readElement(element, index, at)
      if (node.every !== null) return this.#readEvery(node.every, at)
    }
    return skipValue(this.#bytes, at)
  }

  #readObject(members: Members, at: number): number {
    const bytes = this.#bytes
    const object = this.#nextObject()
    let guess = members.first
    let previous: WantedMember | null = null
    let position = skipSpace(bytes, at + 1)
    while (bytes[position] === QUOTE) {
      let member = guess
      let end = member === null ? -1 : behindName(member.name, bytes, position)
      if (end === -1) {
        end = nameEnd(bytes, position)
        if (end === -1) return this.#giveUp()
        member = members.find(bytes, position, end)
      }
      const value = valueStart(bytes, end)
      if (member === null) position = skipValue(bytes, value)
      else {
        if (member.seenIn === object) return this.#giveUp()
        member.seenIn = object
        if (previous === null) members.first = member
        else previous.next = member
        previous = member
        guess = member.next
        position = this.#readValue(member.node, value)
      }
      if (bytes[position] !== COMMA) position = skipSpace(bytes, position)
      if (bytes[position] === COMMA) position = skipSpace(bytes, position + 1)
    }
    return position + 1
  }

  #readEvery(node: ScanNode, at: number): number {
    const bytes = this.#bytes
    let position = skipSpace(bytes, at + 1)
    while (position < bytes.length && bytes[position] !== CLOSE_BRACKET) {
      const end = this.#readValue(node, position)
      if (end === position) return this.#giveUp()
      position = skipSpace(bytes, end)
      if (bytes[position] === COMMA) position = skipSpace(bytes, position + 1)
    }
    return position + 1
  }

  #readElement(node: ScanNode, index: number, at: number): void {
    const start = elementStarts(this.#bytes, at).at(index)
    if (start !== undefined) this.#readValue(node, start)
  }

  #readText(path: number, at: number): number {
    const bytes = this.#bytes
    for (let end = at + 1; end < bytes.length; end++) {
      const byte = bytes[end]!
      if (byte === QUOTE) {
        this.#found.add(path, this.#texts.read(bytes, at + 1, end))
        return end + 1
      }
      if (byte === BACKSLASH || byte >= BEYOND_ASCII) return this.#readOddText(path, at)
    }
    return this.#giveUp()
  }

  #readOddText(path: number, at: number): number {
    const { buffer, byteOffset } = this.#bytes
    const end = skipValue(this.#bytes, at)
    const text: string = JSON.parse(Buffer.from(buffer, byteOffset + at, end - at).toString('utf8'))
    this.#found.add(path, text)
    return end
  }

  #readScalar(path: number, at: number): number {
    const end = skipScalar(this.#bytes, at)
    if (path < 0) return end
    const scalar: Scalar | null = readScalar(this.#bytes, at, end)
    if (scalar !== null) this.#found.add(path, scalar)
    return end
  }

  /** What follows is of no interest any more. */
  #giveUp(): number {
    this.#gaveUp = true
    return this.#bytes.length
  }

  #nextObject(): number {
    this.#object = this.#object === MAX_OBJECT ? 1 : this.#object + 1
    return this.#object
  }
}

/** Numbers up to here are kept without a box of their own. */
const MAX_OBJECT = 2 ** 30

/** Where each element of the array at `at` starts. */
const elementStarts = (bytes: Uint8Array, at: number): number[] => {
  const starts: number[] = []
  let position = skipSpace(bytes, at + 1)
  while (position < bytes.length && bytes[position] !== CLOSE_BRACKET) {
    starts.push(position)
    const end = skipValue(bytes, position)
    if (end === position) return starts
    position = skipSpace(bytes, end)
    if (bytes[position] === COMMA) position = skipSpace(bytes, position + 1)
  }
  return starts
}

/** Behind a name, with its quotes, that is expected at `at`; -1 where another stands there. */
const behindName = (name: Uint8Array, bytes: Uint8Array, at: number): number => {
  const { length } = name
  return areSame(name, 0, bytes, at, length) ? at + length : -1
}

/** Behind the quotes of the name that starts at `at`; -1 where it is not plain ASCII. */
const nameEnd = (bytes: Uint8Array, at: number): number => {
  for (let end = at + 1; end < bytes.length; end++) {
    const byte = bytes[end]!
    if (byte === QUOTE) return end + 1
    if (byte === BACKSLASH || byte >= BEYOND_ASCII) return -1
  }
  return -1
}

/** Where the value of the member whose name ends at `end` starts. */
const valueStart = (bytes: Uint8Array, end: number): number => {
  const colon = bytes[end] === COLON ? end : skipSpace(bytes, end)
  return skipSpace(bytes, colon + 1)
}
