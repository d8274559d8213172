import test from 'ava'
import fc from 'fast-check'
import { countedSizes, lowestPrices } from '../../../src/domain/price/price-key.ts'
import { compilePath, resolvePath } from '../../../src/filter-spec/path.ts'
import { toScalar } from '../../../src/filter-spec/scalar.ts'
import { parseJson } from '../../../src/json/value.ts'
import { DocumentReader, type RowValues } from '../../../src/listing-index/document-reader.ts'
import { jsonText } from '../../helpers/json-text.ts'
import { runs } from '../../helpers/runs.ts'
import { documentText } from './model.ts'
import { pricedText } from './price-model.ts'

const PATHS = [
  '$.a',
  '$.a.b',
  '$.a[*].b',
  '$.a[0]',
  '$.a[-1].b',
  '$.a[*][*]',
  '$.b[*]',
  '$.n',
  '$.list[*]',
  '$.list[*].k',
  '$.list[-2]',
  '$[*].a',
  '$.constructor',
  "$['__proto__'].k",
  "$['naïve name']",
  "$['']",
  "$['\u0001\"']",
].map((path) => compilePath(path.replaceAll('\\"', '"')))
const reader = new DocumentReader(PATHS)

/** What each path finds, read from the bytes. */
const read = (bytes: Uint8Array): unknown[][] => valuesIn(reader.read(bytes))

function valuesIn({ count, paths, values }: Pick<RowValues, 'count' | 'paths' | 'values'>): unknown[][] {
  const found: unknown[][] = PATHS.map(() => [])
  for (let n = 0; n < count; n++) found[paths[n]!]!.push(values[n])
  return found
}

function parsed(bytes: Uint8Array): unknown[][] {
  const document = parseJson(Buffer.from(bytes).toString())
  return PATHS.map((path) => resolvePath(path, document).map(toScalar))
}

const NAMES = ['a', 'b', 'k', 'n', 'list', 'aa', 'constructor', '', 'naïve name', '__proto__', '\u0001"']
const { value: namedText } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    jsonText(),
    fc
      .array(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { maxLength: 5 })
      .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`)}}`),
    fc.array(tie('value'), { maxLength: 4 }).map((elements) => `[${elements}]`),
  ),
}))

test('document reader: paths find in the bytes of any JSON text what they find in its document', (t) => {
  fc.assert(
    fc.property(fc.oneof(namedText, jsonText(), documentText), (text) => {
      const bytes = Buffer.from(text)
      t.deepEqual(read(bytes), parsed(bytes))
    }),
    { numRuns: runs(3000) },
  )
})

test('document reader: prices are those of the document', (t) => {
  fc.assert(
    fc.property(fc.oneof(pricedText, jsonText()), (text) => {
      const document = parseJson(text)
      const sizes = countedSizes(document, '')
      const { prices } = reader.read(Buffer.from(text))
      const lowest = Array.from(lowestPrices(document, 'offer', sizes), ([basis, { key }]) => [basis, key])
      t.deepEqual(prices.sizes, sizes, text)
      t.deepEqual(
        prices.bases.map((basis, n) => [basis, prices.keys[n]]),
        lowest,
        text,
      )
    }),
    { numRuns: runs(1000) },
  )
})

test('document reader: invalid JSON ends in a SyntaxError or a result, and the reader goes on', (t) => {
  const fragments = fc
    .array(
      fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '"a"', '"list"', '1', '-', 'null', ' ', 'é'),
    )
    .map((parts) => Buffer.from(parts.join('')))
  fc.assert(
    fc.property(fc.oneof(fragments, fc.uint8Array()), (bytes) => {
      try {
        read(bytes)
      } catch (error) {
        t.true(error instanceof SyntaxError)
      }
      t.deepEqual(read(Buffer.from('{"a":"b"}'))[0], ['b'])
    }),
    { numRuns: runs(2000) },
  )
})
