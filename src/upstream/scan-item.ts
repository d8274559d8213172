import { type JsonValue, parseJson } from '../domain/json.ts'
import { COLON, JsonCheck } from '../domain/json-check.ts'
import { CLOSE_BRACE, COMMA, OPEN_BRACE, QUOTE } from '../domain/json-walk.ts'

/** Members of a listing that are looked at on its way through. */
const LOOKED_AT = ['listing_id', 'publisher_id', 'storefront_url', 'status', 'created_at'] as const
type LookedAt = (typeof LOOKED_AT)[number]

/**
 * Goes through listings where they stand in an answer, without making documents of them, and notes where the members
 * stand that are looked at. It gives up on what is not plain to see: no object, no JSON, too deep; a member of the
 * object that has an escape in its name, is looked at and comes twice, or is a `_meta`.
 */
export class ItemScanner {
  readonly #bytes: Buffer
  readonly #check: JsonCheck
  readonly #maxDepth: number
  /** Of the latest: where the value of each starts, and where it ends; -1 where there is none. */
  readonly #starts = new Int32Array(LOOKED_AT.length)
  readonly #ends = new Int32Array(LOOKED_AT.length)

  /** @param bytes UTF-8, which may be anything else */
  constructor(bytes: Buffer, maxDepth: number) {
    this.#bytes = bytes
    this.#check = new JsonCheck(bytes)
    this.#maxDepth = maxDepth
  }

  /** Behind the listing that starts at `at`, which is JSON then; -1 where it gave up. */
  scan(at: number): number {
    this.#starts.fill(-1)
    const bytes = this.#bytes
    const check = this.#check
    if (bytes[at] !== OPEN_BRACE) return -1
    let position = check.space(at + 1)
    if (bytes[position] === CLOSE_BRACE) return position + 1
    for (;;) {
      if (bytes[position] !== QUOTE) return -1
      const nameEnd = check.plainEnd(position + 1)
      if (bytes[nameEnd] !== QUOTE) return -1
      const colon = check.space(nameEnd + 1)
      if (bytes[colon] !== COLON) return -1
      const start = check.space(colon + 1)
      const end = check.valueEnd(start, this.#maxDepth - 1)
      if (end === -1 || !this.#note(position + 1, nameEnd, start, end)) return -1
      position = check.space(end)
      if (bytes[position] === CLOSE_BRACE) return position + 1
      if (bytes[position] !== COMMA) return -1
      position = check.space(position + 1)
    }
  }

  /** What that member of the latest listing says, which must not have been given up on. */
  value(name: LookedAt): JsonValue | undefined {
    const member = LOOKED_AT.indexOf(name)
    const start = this.#starts[member]!
    const end = this.#ends[member]!
    if (start === -1) return undefined
    const isPlain = this.#bytes[start] === QUOTE && this.#check.plainEnd(start + 1) === end - 1
    if (isPlain) return this.#bytes.toString('utf8', start + 1, end - 1)
    return this.#digits(start, end) ?? parseJson(this.#bytes.toString('utf8', start, end))
  }

  /** The number from `start` to before `end`, if it is of a few digits and nothing else. */
  #digits(start: number, end: number): number | null {
    if (end - start > MAX_DIGITS) return null
    let value = 0
    for (let position = start; position < end; position++) {
      const digit = this.#bytes[position]! - ZERO
      if (digit < 0 || digit > 9) return null
      value = value * 10 + digit
    }
    return value
  }

  /** `false` for a member on which it gives up. */
  #note(nameStart: number, nameEnd: number, start: number, end: number): boolean {
    if (this.#isName(META, nameStart, nameEnd)) return false
    for (let n = 0; n < NAMES.length; n++) {
      if (!this.#isName(NAMES[n]!, nameStart, nameEnd)) continue
      if (this.#starts[n] !== -1) return false
      this.#starts[n] = start
      this.#ends[n] = end
      return true
    }
    return true
  }

  #isName(name: Uint8Array, start: number, end: number): boolean {
    if (end - start !== name.length) return false
    for (let n = 0; n < name.length; n++) if (this.#bytes[start + n] !== name[n]) return false
    return true
  }
}

const ZERO = 0x30
/** Fewer than a number needs to be inexact. */
const MAX_DIGITS = 15
const NAMES = LOOKED_AT.map((name) => Buffer.from(name))
const META = Buffer.from('_meta')
