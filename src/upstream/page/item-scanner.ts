import { hash } from 'node:crypto'
import { MAX_LISTING_ID_LENGTH } from '../../domain/listing.ts'
import type { ListingQuery } from '../../domain/query.ts'
import { parseTimestamp } from '../../domain/timestamp.ts'
import type { Criterion } from '../../filter-spec/criteria.ts'
import { passesTest } from '../../filter-spec/evaluate.ts'
import { unsentFilters } from '../../filter-spec/parameters.ts'
import { type Path, pathKey } from '../../filter-spec/path.ts'
import { type JsonValue, parseObject } from '../../json/value.ts'
import { FoundValues, RowScanner } from '../../listing-index/scan/row-scanner.ts'
import type { RowText } from '../../listing-index/scan/row-text.ts'
import { KnownItems, type ScannedItem } from './known-items.ts'

const LISTING_ID = 0
const CREATED_AT = 1
const STOREFRONT_URL = 2
const STATUS = 3
const PUBLISHER_ID = 4
const META = 5
const FIELDS: readonly Path[] = [
  'listing_id',
  'created_at',
  'storefront_url',
  'status',
  'publisher_id',
  '_meta',
].map((name) => [{ kind: 'member', name }])

/**
 * Scans items in place, which is faster than parsing and leaves no garbage. Items that it cannot read, for
 * example with an escape in a name, are parsed.
 */
export class ItemScanner {
  readonly #status: string | null
  readonly #criteria: readonly { criterion: Criterion; path: number }[]
  readonly #fields: FieldScanner
  readonly #found: FoundValues

  /** Of the latest item. */
  isMatch = false

  constructor(criteria: readonly Criterion[], status: string | null) {
    const paths = new Map(FIELDS.map((path) => [pathKey(path), path]))
    for (const { filter } of criteria) paths.set(pathKey(filter.compiled), filter.compiled)
    const keys = [...paths.keys()]
    this.#status = status
    this.#criteria = criteria.map((criterion) => ({
      criterion,
      path: keys.indexOf(pathKey(criterion.filter.compiled)),
    }))
    this.#fields = fieldScanner(keys.join('\n'), [...paths.values()])
    this.#found = this.#fields.found
  }

  scan(row: RowText, at: number): ScannedItem {
    const { group } = this.#fields
    const known = KNOWN_ITEMS.find(row, at, group)
    const item = known?.item ?? this.#scan(row, at)
    const found = known?.found ?? this.#found
    if (known === null && item.listingId !== null) KNOWN_ITEMS.add(row, at, group, item, found)
    this.isMatch = (this.#status === null || item.status === this.#status) && this.#passes(found)
    return item
  }

  #scan(row: RowText, at: number): ScannedItem {
    const scanned = this.#scanRow(row, at)
    const end = scanned === -1 ? this.#parse(row, at) : scanned
    const { count, paths, values } = this.#found
    let id: unknown
    let created: unknown
    let storefrontUrl: unknown
    let status: unknown
    let publisherId: unknown
    let hasMeta = this.#found.hasNull
    for (let n = 0; n < count; n++) {
      const value = values[n]
      const path = paths[n]
      if (path === LISTING_ID) id = value
      else if (path === CREATED_AT) created = value
      else if (path === STOREFRONT_URL) storefrontUrl = value
      else if (path === STATUS) status = value
      else if (path === PUBLISHER_ID) publisherId = value
      else if (path === META) hasMeta = true
    }
    const createdAt = typeof created === 'string' ? parseTimestamp(created) : null
    return {
      length: end - at,
      listingId: createdAt !== null && typeof id === 'string' ? boundedId(id) : null,
      createdAt: createdAt ?? 0,
      storefrontUrl: typeof storefrontUrl === 'string' ? storefrontUrl : null,
      publisherId: Number.isSafeInteger(publisherId) ? (publisherId as number) : null,
      status,
      hasMeta,
      isChecked: false,
    }
  }

  /** -1 for an item that has to be parsed, or is broken. */
  #scanRow(row: RowText, at: number): number {
    try {
      return this.#fields.scanner.scanAt(row, at, this.#found)
    } catch (error) {
      if (error instanceof SyntaxError) return -1
      throw error
    }
  }

  #parse(row: RowText, at: number): number {
    const end = row.valueEnd(at)
    this.#found.hasNull = true
    this.#found.readDocument(this.#fields.paths, parseObject(row.bytes.toString('utf8', at, end)))
    return end
  }

  #passes({ count, paths, values }: FoundValues): boolean {
    return this.#criteria.every(({ criterion, path }) => {
      const own: JsonValue[] = []
      for (let n = 0; n < count; n++) if (paths[n] === path) own.push(values[n]!)
      return own.length === 0 ? criterion.onMissing === 'pass' : passesTest(criterion.test, own)
    })
  }
}

const KNOWN_ITEMS = new KnownItems()

/** Shared by queries with the same filters, since it holds one item at a time. `group` is unique. */
type FieldScanner = { paths: readonly Path[]; scanner: RowScanner; found: FoundValues; group: number }

const FIELD_SCANNERS = new Map<string, FieldScanner>()
const MAX_FIELD_SCANNERS = 256
let groups = 0

function fieldScanner(key: string, paths: readonly Path[]): FieldScanner {
  const known = FIELD_SCANNERS.get(key)
  if (known !== undefined) return known
  const fields = { paths, scanner: new RowScanner(paths), found: new FoundValues(), group: ++groups }
  if (FIELD_SCANNERS.size === MAX_FIELD_SCANNERS) FIELD_SCANNERS.clear()
  FIELD_SCANNERS.set(key, fields)
  return fields
}

/** Of an id that is too long, its hash behind a control character: the listing is not shown, but pages join by it. */
function boundedId(id: string): string {
  if (id.length <= MAX_LISTING_ID_LENGTH) return id
  const mayFit = id.length <= 2 * MAX_LISTING_ID_LENGTH
  return mayFit && [...id].length <= MAX_LISTING_ID_LENGTH ? id : `\0${hash('sha256', id, 'base64url')}`
}

/** Checks what the upstream should have applied: the status and the sent filters. */
export function scannerOf(query: ListingQuery): ItemScanner {
  if (query.listingId !== undefined) return new ItemScanner([], null)
  const unsent = new Set(unsentFilters(query))
  const sent = query.criteria.filter(({ filter }) => !unsent.has(filter.name))
  return new ItemScanner(sent, query.status)
}
