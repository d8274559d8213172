import test from 'ava'
import fc from 'fast-check'
import { EntrepotError } from '../../../src/errors.ts'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import { compileFilter, type FilterDefinition } from '../../../src/filter-spec/filter.ts'
import { VALUE_TYPES, writeSet } from '../../../src/filter-spec/literals.ts'
import { OPS } from '../../../src/filter-spec/operations/operations.ts'
import { decodeQuery, parseCriteria } from '../../../src/filter-spec/parameters.ts'
import type { JsonValue } from '../../../src/json/value.ts'
import { anyText } from '../../helpers/any-text.ts'
import { runs } from '../../helpers/runs.ts'

const define = (
  definition: Pick<FilterDefinition, 'name' | 'op' | 'value_type'> & Partial<FilterDefinition>,
) => compileFilter({ path: '$.v', alias_kind: null, on_missing: 'fail', indexed: false, ...definition })

/** One filter of every kind, named after its kind: `in_string`, `range_number`. */
const everyKind = OPS.flatMap((op) =>
  VALUE_TYPES.map((type) => define({ name: `${op}_${type}`, op, value_type: type })),
)
const minimum = define({ name: 'minimum', op: 'range', value_type: 'number', alias_kind: 'lower_bound' })
const spec = { filters: new Map([...everyKind, minimum].map((filter) => [filter.name, filter])) }

const ask = (query: string, value: JsonValue | undefined) =>
  matchesAll(parseCriteria(spec, decodeQuery(query)), value === undefined ? {} : { v: value })

function refusal(query: string): string {
  try {
    parseCriteria(spec, decodeQuery(query))
    return 'accepted'
  } catch (error) {
    if (error instanceof EntrepotError && error.code === 'bad_request') return error.message
    throw error
  }
}

test('parameters: names that objects inherit are unknown filters', (t) => {
  t.is(refusal('__proto__=1'), "unknown filter: '__proto__'")
  t.is(refusal('strict.constructor=1'), 'strict.constructor: unknown filter')
})

test('parameters: an exists or not_in filter refuses a plain value, whatever its type', (t) => {
  const why = 'filter must be invoked via set-form (e.g.'
  for (const type of VALUE_TYPES) {
    for (const value of ['exists:maybe', 'x', '1e3', 'true', 'not_in:1]']) {
      t.true(refusal(`exists_${type}=${value}`).startsWith(`exists_${type}: exists ${why} exists:[...]`))
      t.true(refusal(`not_in_${type}=${value}`).startsWith(`not_in_${type}: not_in ${why} not_in:[...]`))
    }
  }
})

test('values: an integer of 4300 digits is read, a longer one is refused with its text cut', (t) => {
  const digits = '9'.repeat(4_300)
  t.true(ask(`in_integer=${digits}`, BigInt(digits)))
  t.true(ask(`in_integer=-${digits}`, -BigInt(digits)))
  t.is(refusal(`in_integer=0${digits}`), `in_integer: expected integer, got '0${'9'.repeat(199)}…'`)
})

test('values: numbers are read as Python reads them', (t) => {
  const integers = {
    '%20%2B0_7%0B': 7,
    '%C2%857': 7,
    '%D9%A1_%D9%A2': 12,
    '%F0%9D%9F%99%F0%9D%9F%9F': 17,
    '-0': 0,
  }
  for (const [text, value] of Object.entries(integers)) t.true(ask(`in_integer=${text}`, value), text)
  for (const text of ['5.0', '1__0', '_1', '1_', '%1C5', '%EF%BB%BF5', '-%205', '5%00', '%20']) {
    t.regex(refusal(`in_integer=${text}`), /^in_integer: expected integer, got /)
  }
  const numbers = { '5.': 5, '.5': 0.5, '1_0.0_1e1_0': 100_100_000_000, '%D9%A1.%D9%A2': 1.2 }
  for (const [text, value] of Object.entries({ ...numbers, '1e400': Infinity, '-INFinity': -Infinity }))
    t.true(ask(`in_number=${text}`, value), text)
  for (const text of ['1_.5', '1._5', '.', '1_e5', 'e5', '0x10', '1e%2B', 'infi', '%1C1']) {
    t.regex(refusal(`in_number=${text}`), /^in_number: expected number, got /)
  }
})

test('values: a set is read as it was written, with commas and brackets in its values', (t) => {
  const value = fc.string({ unit: fc.constantFrom('a', 'B', ' ', ',', '[', ']', '{', '0'), minLength: 1 })
  const values = fc.uniqueArray(
    value.filter((text) => text.trim() === text),
    { minLength: 1, maxLength: 5 },
  )
  fc.assert(
    fc.property(values, fc.constantFrom('in', 'not_in'), (chosen, form) => {
      const query = new URLSearchParams({ [`${form}_string`]: writeSet(form, chosen) })
      const [criterion] = parseCriteria(spec, decodeQuery(String(query)))
      t.deepEqual(criterion?.test, { op: form, values: new Set(chosen) } as never)
    }),
  )
})

test('parameters: any query is criteria or a 400, and any criteria pass or fail a listing', (t) => {
  const name = fc.constantFrom(...spec.filters.keys(), 'banana', 'strict.', '')
  const parameter = fc.oneof(
    name,
    name.map((text) => `strict.${text}`),
  )
  const item = fc.oneof(
    fc.constantFrom('', '1', '-1.5', 'true', 'nan', '-inf', '1e400', '9007199254740993', ' x '),
    anyText(),
  )
  const set = fc
    .tuple(
      fc.constantFrom('in:[', 'not_in:[', 'range:[', 'range:(', 'exists:', ''),
      fc.array(item, { maxLength: 3 }),
      fc.constantFrom(']', ')', ''),
    )
    .map(([start, items, end]) => start + items.join(',') + end)
  const pair = fc.tuple(parameter, fc.oneof(item, set))
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 4 }), fc.jsonValue(), (pairs, value) => {
      try {
        const criteria = parseCriteria(spec, pairs)
        return typeof matchesAll(criteria, { v: value as JsonValue }) === 'boolean'
      } catch (error) {
        return error instanceof EntrepotError && error.status === 400
      }
    }),
    { numRuns: runs(500) },
  )
  t.pass()
})

test('matching: not_in passes exactly if in does not, for a present field', (t) => {
  const scalar = fc.oneof(fc.integer(), fc.double(), fc.boolean(), fc.string(), fc.bigInt())
  fc.assert(
    fc.property(scalar, fc.array(fc.integer({ min: -3, max: 3 })), (value, wanted) => {
      const list = `[${wanted.join(',')}]`
      return ask(`in_integer=in:${list}`, value) !== ask(`not_in_integer=not_in:${list}`, value)
    }),
  )
  t.pass()
})
