import type { JsonValue } from '../../domain/json.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
  stringEnd,
  walkValue,
} from '../../domain/json-walk.ts'

/** Larger listings are unreadable. */
export const MAX_ITEM_BYTES = 65_536
/** More deeply nested listings are unreadable. */
export const MAX_ITEM_DEPTH = 32
/** Most members of an envelope. */
const MAX_MEMBERS = 256

/** Boundaries of the items of an envelope: start, end and nesting depth of each, one after the other. */
export type Slices = { bounds: Int32Array; count: number; arrayStart: number; arrayEnd: number }

/**
 * Finds where the items of a page begin and end. Mostly only the first few are shown, so it stops at the last one asked
 * for. A body that is only partly scanned might hold `items` twice; then the item is compared with the document that
 * was parsed, and refused if it is another.
 */
export class ItemSlices {
  readonly #bytes: Buffer
  readonly #count: number
  readonly #documents: WeakRef<readonly JsonValue[]>
  #bounds: Int32Array
  #found = 0
  #next = 0
  #isExact = false

  constructor(bytes: Buffer, documents: readonly JsonValue[], known: Slices | null) {
    this.#bytes = bytes
    this.#count = documents.length
    this.#documents = new WeakRef(documents)
    this.#bounds = known?.bounds ?? EMPTY
    this.#isExact = known !== null
  }

  get retainedBytes(): number {
    return this.#bounds.byteLength
  }

  /** @throws SyntaxError for an item that is too long, nested too deep, or in no clear place */
  at(index: number): Buffer {
    const documents = this.#isExact ? undefined : this.#documents.deref()
    if (!this.#isExact && (documents === undefined || index >= this.#count / 2)) this.#findAll()
    else if (!this.#isExact) this.#findUpTo(index)
    const [start = 0, end = 0, depth = 0] = this.#bounds.subarray(3 * index, 3 * index + 3)
    const slice = this.#bytes.subarray(start, end)
    if (end <= start || slice.length > MAX_ITEM_BYTES || depth > MAX_ITEM_DEPTH) throw unreadable()
    if (!this.#isExact && !isSameDocument(slice, documents?.[index])) throw unreadable()
    return slice
  }

  #findAll(): void {
    const slices = findSlices(this.#bytes, this.#count)
    this.#bounds = slices?.count === this.#count ? slices.bounds : EMPTY
    this.#isExact = true
  }

  #findUpTo(index: number): void {
    if (this.#found > index) return
    if (this.#bounds === EMPTY) {
      this.#bounds = new Int32Array(3 * this.#count)
      this.#next = firstItem(this.#bytes)
    }
    while (this.#found <= index && this.#next > 0) {
      const { end, depth } = walkValue(this.#bytes, this.#next)
      this.#bounds.set([this.#next, end, depth], 3 * this.#found++)
      const comma = skipSpace(this.#bytes, end)
      this.#next = this.#bytes[comma] === COMMA ? skipSpace(this.#bytes, comma + 1) : 0
    }
  }
}

const EMPTY = new Int32Array(0)

function unreadable(): SyntaxError {
  return new SyntaxError('an item of the page is unreadable')
}

function isSameDocument(slice: Buffer, document: JsonValue | undefined): boolean {
  try {
    return JSON.stringify(JSON.parse(slice.toString())) === JSON.stringify(document)
  } catch {
    return false
  }
}

/** Where the first item starts, if `items` is the first member; 0 otherwise. */
function firstItem(bytes: Buffer): number {
  const name = skipSpace(bytes, skipSpace(bytes, 0) + 1)
  const end = stringEnd(bytes, name)
  if (bytes.toString('latin1', name, end) !== '"items"') return 0
  const array = skipSpace(bytes, skipSpace(bytes, end) + 1)
  return bytes[array] === OPEN_BRACKET ? skipSpace(bytes, array + 1) : 0
}

/**
 * Scans a whole envelope for the elements of its last member `items`. The bytes need not be JSON: if every element and
 * everything around the array is, then so is the envelope. `null` where there is no such array or a limit is exceeded.
 */
export function findSlices(bytes: Buffer, most: number): Slices | null {
  let found: Slices | null = null
  let position = skipSpace(bytes, 0)
  if (bytes[position] !== OPEN_BRACE) return null
  position = skipSpace(bytes, position + 1)
  for (let members = 0; bytes[position] === QUOTE; members++) {
    if (members === MAX_MEMBERS) return null
    const nameEnd = stringEnd(bytes, position)
    const value = skipSpace(bytes, skipSpace(bytes, nameEnd) + 1)
    const isItems = isName(bytes.subarray(position, nameEnd), 'items')
    if (isItems) found = findElements(bytes, value, most)
    if (isItems && found === null) return null
    const end = isItems ? found!.arrayEnd : walkValue(bytes, value).end
    position = skipSpace(bytes, end)
    if (bytes[position] === CLOSE_BRACE) return found
    if (bytes[position] !== COMMA) return null
    position = skipSpace(bytes, position + 1)
  }
  return null
}

function findElements(bytes: Buffer, at: number, most: number): Slices | null {
  if (bytes[at] !== OPEN_BRACKET) return null
  const bounds = new Int32Array(3 * most)
  let position = skipSpace(bytes, at + 1)
  if (bytes[position] === CLOSE_BRACKET) return { bounds, count: 0, arrayStart: at, arrayEnd: position + 1 }
  for (let count = 0; count < most; ) {
    const { end, depth } = walkValue(bytes, position)
    if (end === position) return null
    bounds.set([position, end, depth], 3 * count++)
    position = skipSpace(bytes, end)
    if (bytes[position] === CLOSE_BRACKET) return { bounds, count, arrayStart: at, arrayEnd: position + 1 }
    if (bytes[position] !== COMMA) return null
    position = skipSpace(bytes, position + 1)
  }
  return null
}

function isName(text: Buffer, name: string): boolean {
  const plain = text.toString('latin1', 1, text.length - 1)
  if (!plain.includes('\\')) return plain === name
  try {
    return JSON.parse(text.toString()) === name
  } catch {
    return false
  }
}
