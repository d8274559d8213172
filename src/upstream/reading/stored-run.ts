import type { ListingQuery } from '../../domain/query.ts'
import { isJsonObject } from '../../json/value.ts'
import { scannerOf } from '../page/item-scanner.ts'
import { ListingPage, type PageAbout } from '../page/listing-page.ts'
import { Run, type RunUpstream } from './run.ts'

type StoredPage = Pick<ListingPage, 'bytes' | 'about'>

/** Besides the bodies. */
const RUN_HEAP_BYTES = 600
const PAGE_HEAP_BYTES = 950
/** Includes evicted bodies until they are collected; measured by `npm run bench churn`. */
const BODY_FACTOR = 1.375

/** Keeps bodies only: scanning them again costs less than keeping parsed runs. */
export class StoredRun {
  readonly #head: RunHead
  readonly #pages: readonly StoredPage[]
  #run: WeakRef<Run> | null

  private constructor(head: RunHead, pages: readonly StoredPage[], run: Run | null = null) {
    this.#head = head
    this.#pages = pages
    this.#run = run && new WeakRef(run)
  }

  static of(run: Run): StoredRun {
    const { asOf, after, isEnded, skipped } = run
    const pages = run.pages.map(({ bytes, about }) => ({ bytes, about }))
    // A weak reference keeps its run through minor collections; scanning one page again costs less.
    return new StoredRun({ asOf, after, isEnded, skipped }, pages, pages.length === 1 ? null : run)
  }

  get retainedBytes(): number {
    return this.#pages.reduce(
      (sum, { bytes }) => sum + Math.ceil(bytes.length * BODY_FACTOR) + PAGE_HEAP_BYTES,
      RUN_HEAP_BYTES,
    )
  }

  /** @throws SourceError for pages that `encode` did not write */
  run(upstream: RunUpstream, query: ListingQuery): Run {
    const known = this.#run?.deref()
    if (known !== undefined) return known
    const { asOf, after, isEnded, skipped } = this.#head
    const run = new Run(upstream, after, asOf)
    const scanner = scannerOf(query)
    // A run that misses anything else is not stored.
    const missing = { ignoreLoops: true, ownId: query.via?.at(-1) }
    for (const { bytes, about } of this.#pages) {
      const page = new ListingPage(bytes, { kind: upstream.kind, scanner, missing, ...about })
      if (!skipped.includes(page.offset - 1) && !run.isJoint(page))
        throw run.broken('its stored pages do not join')
      run.add(page)
    }
    for (const offset of skipped) run.skip(offset)
    run.isEnded = isEnded
    this.#run = new WeakRef(run)
    return run
  }

  /** A JSON head and a line feed, then the bodies. */
  encode(): Buffer {
    const pages = this.#pages.map(({ bytes, about }) => ({ ...about, length: bytes.length }))
    const head = JSON.stringify({ ...this.#head, pages })
    return Buffer.concat([Buffer.from(`${head}\n`), ...this.#pages.map(({ bytes }) => bytes)])
  }

  /** `null` for other bytes: Redis may be shared. */
  static decode(encoded: Buffer): StoredRun | null {
    try {
      let end = encoded.indexOf(LINE_FEED) + 1
      const head: unknown = JSON.parse(encoded.toString('utf8', 0, end))
      if (!isHead(head)) return null
      const { pages, ...about } = head
      const stored = pages.map(({ length, ...about }) => {
        const bytes = encoded.subarray(end, end + length)
        end += length
        return { about, bytes }
      })
      return new StoredRun(about, stored)
    } catch {
      return null
    }
  }
}

const LINE_FEED = 0x0a

type RunHead = Pick<Run, 'asOf' | 'after' | 'isEnded'> & { skipped: readonly number[] }
type StoredHead = RunHead & { pages: (PageAbout & { length: number })[] }

function isHead(value: unknown): value is StoredHead {
  return (
    isJsonObject(value) &&
    Array.isArray(value.pages) &&
    Array.isArray(value.skipped) &&
    typeof value.asOf === 'number' &&
    typeof value.isEnded === 'boolean' &&
    value.pages.every((page) => isJsonObject(page) && typeof page.length === 'number')
  )
}
