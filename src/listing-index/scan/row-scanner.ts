import { type Scalar, toScalar } from '../../filter-spec/criteria.ts'
import { type Path, resolvePath } from '../../filter-spec/path.ts'
import {
  CLOSE_BRACKET,
  COLON,
  COMMA,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  POINT,
  QUOTE,
  ZERO,
} from '../../json/scanner.ts'
import { type JsonValue, parseJson } from '../../json/value.ts'
import { NO_PRICES, type RowPrices } from '../row-prices.ts'
import { RowText } from './row-text.ts'
import { findMember, isNameAt, type ScanNode, scanTree, type WantedMember } from './scan-tree.ts'
import { TextPool } from './text-pool.ts'

/** Longer texts are rare and go to the parser. */
const MAX_SCANNED_BYTES = 64 * 1024
/** Shared: scans are synchronous. */
const SHARED_ROW = new RowText(MAX_SCANNED_BYTES)
const TEXTS = new TextPool()

/**
 * Reads only wanted values. Gives up on names with escapes or beyond ASCII, repeated wanted names, and booleans of
 * `exact` paths.
 */
export class RowScanner {
  readonly #root: ScanNode
  readonly #exact: ReadonlySet<number>
  #row = SHARED_ROW
  #found!: FoundValues
  #gaveUp = false
  #object = 0

  constructor(paths: readonly Path[], exact: ReadonlySet<number> = new Set()) {
    this.#root = scanTree(paths)
    this.#exact = exact
  }

  /** `false` when it gave up; `found` is then incomplete. */
  scan(bytes: Uint8Array, found: FoundValues): boolean {
    if (bytes.length > MAX_SCANNED_BYTES) return false
    SHARED_ROW.load(bytes)
    return this.scanAt(SHARED_ROW, SHARED_ROW.skipSpace(0), found) !== -1
  }

  /** As `scan`, for the value at `at`: returns its end, or -1 when it gave up. */
  scanAt(row: RowText, at: number, found: FoundValues): number {
    this.#row = row
    this.#found = found
    this.#gaveUp = false
    found.count = 0
    found.hasNull = false
    const end = this.#readValue(this.#root, at)
    return this.#gaveUp ? -1 : end
  }

  /** The read methods return the position behind the value at `at`. */
  #readValue(node: ScanNode, at: number): number {
    if (at >= this.#row.length) return this.#giveUp()
    const first = this.#row.bytes[at]
    if (node.every !== null && first !== OPEN_BRACKET) this.#readValue(node.every, at)
    if (first === QUOTE) return node.path < 0 ? this.#row.valueEnd(at) : this.#readText(node.path, at)
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return this.#readScalar(node.path, at)
    if (node.path >= 0) this.#found.add(node.path, null)
    if (first === OPEN_BRACE && node.members.length > 0) return this.#readObject(node, at)
    if (first === OPEN_BRACKET) {
      for (const { index, node: element } of node.indexes) {
        const found = this.#row.arrayAt(at)?.elements.at(index)
        if (found !== undefined) this.#readValue(element, found.start)
      }
      if (node.every !== null) return this.#readEvery(node.every, at)
    }
    return this.#row.valueEnd(at)
  }

  #readObject(node: ScanNode, at: number): number {
    const row = this.#row
    const { bytes } = row
    const object = this.#nextObject()
    let guess = node.first
    let previous: WantedMember | null = null
    let position = row.skipSpace(at + 1)
    while (bytes[position] === QUOTE) {
      let member = guess
      let end: number
      if (member !== null && isNameAt(row, position, member)) end = position + member.nameLength
      else {
        end = row.plainStringEnd(position) + 1
        if (end === 0) return this.#giveUp()
        member = findMember(node.members, row, position, end)
      }
      const value = valueStart(row, end)
      if (member === null) position = row.valueEnd(value)
      else {
        if (member.seenIn === object) return this.#giveUp()
        member.seenIn = object
        if (previous === null) node.first = member
        else previous.next = member
        previous = member
        guess = member.next
        position = this.#readValue(member.node, value)
      }
      if (bytes[position] !== COMMA) position = row.skipSpace(position)
      if (bytes[position] === COMMA) position = row.skipSpace(position + 1)
    }
    return position + 1
  }

  #readEvery(node: ScanNode, at: number): number {
    const row = this.#row
    const { bytes } = row
    let position = row.skipSpace(at + 1)
    while (position < row.length && bytes[position] !== CLOSE_BRACKET) {
      const end = this.#readValue(node, position)
      if (end === position) return this.#giveUp()
      position = row.skipSpace(end)
      if (bytes[position] === COMMA) position = row.skipSpace(position + 1)
    }
    return position + 1
  }

  #readText(path: number, at: number): number {
    const end = this.#row.plainStringEnd(at)
    if (end === -1) return this.#readOddText(path, at)
    this.#found.add(path, TEXTS.read(this.#row, at + 1, end))
    return end + 1
  }

  #readOddText(path: number, at: number): number {
    const end = this.#row.valueEnd(at)
    const text: string = JSON.parse(this.#row.bytes.toString('utf8', at, end))
    this.#found.add(path, text)
    return end
  }

  #readScalar(path: number, at: number): number {
    const end = this.#row.scalarEnd(at)
    if (path < 0) return end
    const first = this.#row.bytes[at]
    if ((first === SMALL_T || first === SMALL_F) && this.#exact.has(path)) return this.#giveUp()
    const scalar: Scalar | null = readScalar(this.#row.bytes, at, end)
    if (scalar !== null) this.#found.add(path, scalar)
    else this.#found.hasNull = true
    return end
  }

  #giveUp(): number {
    this.#gaveUp = true
    return this.#row.length
  }

  #nextObject(): number {
    this.#object = this.#object === MAX_OBJECT ? 1 : this.#object + 1
    return this.#object
  }
}

/** Larger numbers would be boxed. */
const MAX_OBJECT = 2 ** 30

function valueStart(row: RowText, end: number): number {
  const colon = row.bytes[end] === COLON ? end : row.skipSpace(end)
  return row.skipSpace(colon + 1)
}

const SMALL_N = 0x6e
const SMALL_T = 0x74
const SMALL_F = 0x66
/** Below 2^53, where powers of ten are exact too: one division rounds once. */
const MAX_EXACT_DIGITS = 15
const POWERS_OF_TEN = Array.from({ length: MAX_EXACT_DIGITS + 1 }, (_, n) => 10 ** n)

/** Numbers, `true`, `false`, `null`; short numbers skip the parser. @throws SyntaxError for other text */
function readScalar(bytes: Buffer, start: number, end: number): Scalar | null {
  const first = bytes[start]
  if (first === SMALL_N) return null
  if (first === SMALL_T) return 1
  if (first === SMALL_F) return 0
  const isNegative = first === MINUS
  let digits = 0
  let fractionDigits = -1
  let value = 0
  for (let at = isNegative ? start + 1 : start; at < end; at++) {
    const byte = bytes[at]!
    const digit = byte - ZERO
    if (digit >= 0 && digit <= 9) {
      if (++digits > MAX_EXACT_DIGITS) return parsedScalar(bytes, start, end)
      value = value * 10 + digit
      if (fractionDigits >= 0) fractionDigits++
    } else if (byte === POINT && fractionDigits < 0) fractionDigits = 0
    else return parsedScalar(bytes, start, end)
  }
  if (digits === 0) return parsedScalar(bytes, start, end)
  if (fractionDigits > 0) value /= POWERS_OF_TEN[fractionDigits]!
  return isNegative ? 0 - value : value
}

const parsedScalar = (bytes: Buffer, start: number, end: number): Scalar | null =>
  toScalar(parseJson(bytes.toString('latin1', start, end)))

/** What a vocabulary's paths find in one listing. Reused for the next. */
export class FoundValues {
  count = 0
  /** Whether a path found `null`, which is not a value. */
  hasNull = false
  /** Path number of each value. */
  readonly paths: number[] = []
  /** `null` for arrays and objects: present, but equal to nothing. */
  readonly values: (Scalar | null)[] = []
  /** Of a reader with prices; never written to. */
  prices: RowPrices = NO_PRICES

  add(path: number, value: Scalar | null): void {
    this.paths[this.count] = path
    this.values[this.count] = value
    this.count++
  }

  /** What `resolvePath` gives per path. */
  readDocument(paths: readonly Path[], document: JsonValue): void {
    this.count = 0
    for (const [n, path] of paths.entries())
      for (const value of resolvePath(path, document)) this.add(n, toScalar(value))
  }

  /** Only the values of the first paths: the others would count towards the size of a segment. */
  keep(paths: number): void {
    let kept = 0
    for (let n = 0; n < this.count; n++) {
      if (this.paths[n]! >= paths) continue
      this.paths[kept] = this.paths[n]!
      this.values[kept++] = this.values[n]!
    }
    this.count = kept
  }

  copy(): FoundValues {
    const copy = new FoundValues()
    for (let n = 0; n < this.count; n++) copy.add(this.paths[n]!, this.values[n]!)
    copy.prices = this.prices
    return copy
  }
}
