import fc from 'fast-check'
import { LISTING_STATUSES } from '../../../src/domain/listing.ts'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import type { Criterion } from '../../../src/filter-spec/filter.ts'
import { compileFilter, type Filter } from '../../../src/filter-spec/filter.ts'
import type { FilterTest, Op } from '../../../src/filter-spec/operations/operations.ts'
import { type Bound, type Scalar, toScalar } from '../../../src/filter-spec/scalar.ts'
import { parseJson } from '../../../src/json/value.ts'
import type { Row } from '../../../src/listing-index/copy.ts'
import type { CopyConditions } from '../../../src/listing-index/match.ts'
import type { OneSource } from '../../helpers/one-source.ts'

/** The index in its plainest form: a map, the evaluator, and a sort. */
export class Model {
  readonly #entries = new Map<string, Row>()

  put(entry: Row): void {
    this.#entries.set(entry.key, entry)
  }

  remove(key: string): boolean {
    return this.#entries.delete(key)
  }

  /** Newest first, then by id. */
  matches({ status, sellers = null, criteria }: CopyConditions): Row[] {
    return [...this.#entries.values()]
      .filter(
        (entry) =>
          (status === null || entry.status === status) &&
          (sellers === null || sellers.has(entry.seller)) &&
          matchesAll(criteria, parseJson(Buffer.from(entry.bytes).toString())),
      )
      .sort((a, b) => b.position - a.position || (a.key < b.key ? -1 : 1))
  }
}

type Operation = { kind: 'put'; entry: Row } | { kind: 'remove'; key: string }

export function apply(operation: Operation, target: Pick<OneSource, 'put' | 'remove'>): void {
  if (operation.kind === 'put') target.put(operation.entry)
  else target.remove(operation.key)
}

/** Rows with their bytes as text, to be compared. */
export const readable = (rows: Iterable<Row>): unknown[] =>
  Array.from(rows, ({ key, seller, status, position, bytes }) => {
    return { key, seller, status, position, text: Buffer.from(bytes).toString() }
  })

export const filterOn = (path: string, op: Filter['op'] = 'in'): Filter =>
  compileFilter({
    name: path,
    path,
    op,
    value_type: 'string',
    alias_kind: null,
    on_missing: 'fail',
    indexed: false,
  })

/** Several filters share a path; some paths are the beginnings of others, or names that every object inherits. */
export const FILTERS: readonly Filter[] = [
  '$.a',
  '$.a',
  '$.n',
  '$.n',
  '$.list[*]',
  '$.list',
  '$.list[0]',
  '$.list[-1]',
  '$.list[*].k',
  '$.constructor',
  "$['__proto__'].k",
  '$',
].map((path) => filterOn(path))

const SCALAR_TEXTS = [
  '"x"',
  '"y"',
  '"1"',
  '""',
  '1',
  '1.0',
  '0',
  '-0',
  '2',
  '3.5',
  '-7',
  '0.1',
  'true',
  'false',
]
const LARGE_TEXTS = ['9007199254740992', '9007199254740993', '-9007199254740993', '1e30', '1e400', '5e-324']
const OTHER_TEXTS = ['null', '[]', '{}', '["x"]', '{"k":1}']
const NUMBER_TEXTS = [...Array.from({ length: 40 }, (_, n) => String(n / 2)), ...LARGE_TEXTS]

const valueText = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...SCALAR_TEXTS) },
  { weight: 2, arbitrary: fc.constantFrom(...LARGE_TEXTS) },
  { weight: 2, arbitrary: fc.constantFrom(...OTHER_TEXTS) },
)

const listText = fc.oneof(
  fc
    .array(fc.oneof(valueText, fc.constantFrom('{"k":"x"}', '{"k":null}', '{"k":[2]}')), { maxLength: 4 })
    .map((parts) => `[${parts.join(',')}]`),
  valueText,
)

/** A listing's document: every member may be missing, and of every type. */
export const documentText: fc.Arbitrary<string> = fc
  .record(
    {
      a: valueText,
      n: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...NUMBER_TEXTS) },
        { weight: 1, arbitrary: valueText },
      ),
      list: listText,
      constructor: valueText,
      ['__proto__']: fc.constantFrom('{"k":"x"}', '{}', 'null'),
      other: listText,
    },
    { requiredKeys: [], noNullPrototype: false },
  )
  .map((members) => `{${Object.entries(members).map(([name, value]) => `"${name}":${value}`)}}`)

/** Ids whose order by UTF-16 code units is not that by code points, among others. */
const LISTING_IDS = ['\u{1f680}', '\uff5e', 'a', 'A', ...Array.from({ length: 60 }, (_, n) => `listing-${n}`)]

/** Mostly rising times, with some late ones and many ties; ids are used again and again. */
export const operations = (length: number): fc.Arbitrary<Operation[]> =>
  fc
    .array(
      fc.record({
        remove: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
        late: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(length) }),
        key: fc.constantFrom(...LISTING_IDS),
        seller: fc.integer({ min: 1, max: 3 }),
        status: fc.constantFrom(...LISTING_STATUSES),
        text: documentText,
      }),
      { minLength: length / 2, maxLength: length },
    )
    .map((drawn) =>
      drawn.map(({ remove, late, key, seller, status, text }, n): Operation => {
        if (remove) return { kind: 'remove', key }
        const position = (n - late) >> 1
        return { kind: 'put', entry: { key, seller, status, position, bytes: Buffer.from(text) } }
      }),
    )

const scalar: fc.Arbitrary<Scalar> = fc
  .constantFrom(...SCALAR_TEXTS, ...NUMBER_TEXTS)
  .map((text) => toScalar(parseJson(text))!)

const bound: fc.Arbitrary<Bound | null> = fc.option(
  fc.record({
    value: scalar.filter((value) => typeof value !== 'string'),
    inclusive: fc.boolean(),
  }),
)

const values = fc.array(scalar, { maxLength: 4 }).map((all) => new Set(all))

const TESTS: { readonly [Name in Op]: fc.Arbitrary<Extract<FilterTest, { op: Name }>> } = {
  in: fc.record({ op: fc.constant('in'), values }),
  not_in: fc.record({ op: fc.constant('not_in'), values }),
  range: fc.record({ op: fc.constant('range'), low: bound, high: bound }),
  exists: fc.record({ op: fc.constant('exists'), wanted: fc.boolean() }),
}

export const criterion: fc.Arbitrary<Criterion> = fc.record({
  filter: fc.constantFrom(...FILTERS),
  onMissing: fc.constantFrom('pass' as const, 'fail' as const),
  test: fc.oneof(...Object.values(TESTS)),
})

export const conditions: fc.Arbitrary<CopyConditions> = fc.record({
  status: fc.option(fc.constantFrom(...LISTING_STATUSES)),
  sellers: fc.option(
    fc.integer({ min: 1, max: 4 }).map((id): ReadonlySet<number> => new Set([id])),
    { nil: null },
  ),
  criteria: fc.array(criterion, { maxLength: 3 }),
})
