import test from 'ava'
import fc from 'fast-check'
import { hasLongerArray, nestingDepth } from '../../../src/json/limits.ts'
import { objectMembers, withMember, withoutMember } from '../../../src/json/members.ts'
import { JsonScanner } from '../../../src/json/scanner.ts'
import { isJsonObject, parseJson, sameJson } from '../../../src/json/value.ts'
import { jsonObjectText, jsonText } from '../../helpers/json-text.ts'
import { runs } from '../../helpers/runs.ts'

const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

function elementsOf(bytes: Uint8Array) {
  return new JsonScanner(bytes).arrayAt(0)?.elements ?? null
}

test('parseJson: integers of any size stay exact, other values parse as with JSON.parse', (t) => {
  t.deepEqual(
    parseJson('{"a":9007199254740993,"b":[-9007199254740993],"c":1e30,"d":1.0,"e":"1234567890123456789"}'),
    {
      a: 9007199254740993n,
      b: [-9007199254740993n],
      c: 1e30,
      d: 1,
      e: '1234567890123456789',
    },
  )
  t.is(parseJson('1180591620717411303424'), 2n ** 70n)
  t.is(parseJson(' -1180591620717411303424'), -(2n ** 70n))
  t.is(parseJson('0.12345678901234567890'), 0.12345678901234568)
  t.throws(() => parseJson('[1180591620717411303424'), { instanceOf: SyntaxError })
})

test('scanner: the elements of an array, joined again, are the array', (t) => {
  fc.assert(
    fc.property(fc.array(jsonText(), { maxLength: 8 }), fc.constantFrom('', ' ', '\n\t'), (texts, space) => {
      const bytes = Buffer.from(`${space}[${texts.map((text) => space + text + space).join(',')}]${space}`)
      const elements = elementsOf(bytes)
      t.deepEqual(
        elements?.map(({ start, end }) => utf8(bytes.subarray(start, end))),
        texts.map((text) => text.trim()),
      )
      t.deepEqual(
        elements?.map(({ start, end }) => nestingDepth(bytes.subarray(start, end))),
        texts.map(depthOf),
      )
    }),
  )
})

function depthOf(text: string): number {
  const brackets = [...text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '').replaceAll(/[^[\]{}]/g, '')]
  let depth = 0
  return Math.max(0, ...brackets.map((bracket) => (bracket === '[' || bracket === '{' ? ++depth : --depth)))
}

test('scanner: bytes that are cut off, or joined by other bytes than commas, are not an array', (t) => {
  const cut = ['', '[', '[{"a":1}', '[{"a":1},']
  const joined = ['[{"a":1},]', '[,1]', '[1 2]', '[{} {}]', '[{}\u0000,{}]', '[{}}', '{"a":1}', '7']
  for (const text of [...cut, ...joined]) t.is(elementsOf(Buffer.from(text)), null, text)
})

test('scanner: it ends for any bytes', (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom('', '[', '{"a":', '["'),
      (junk, opening) => {
        const bytes = Buffer.concat([Buffer.from(opening), junk])
        t.true(nestingDepth(bytes) <= bytes.length)
        for (const { start, end } of elementsOf(bytes) ?? []) t.true(start < end && end <= bytes.length)
      },
    ),
  )
})

test('scanner: a value ends where JSON.parse ends it', (t) => {
  fc.assert(
    fc.property(jsonText(), fc.constantFrom('', ',', ']', ' 1', '\n'), (text, behind) => {
      const bytes = Buffer.from(text + behind)
      const scanner = new JsonScanner(bytes)
      const end = scanner.valueEnd(scanner.skipSpace(0))
      t.deepEqual(JSON.parse(bytes.toString('utf8', 0, end)), JSON.parse(text))
    }),
    { numRuns: runs(2000) },
  )
})

test('scanner: it never passes the end of a text in a longer buffer', (t) => {
  fc.assert(
    fc.property(jsonText(), fc.nat(), jsonText(), (text, cut, older) => {
      const part = Buffer.from(text).subarray(0, cut % (text.length + 1))
      const scanner = new JsonScanner(Buffer.concat([part, Buffer.alloc(1), Buffer.from(older)]), part.length)
      for (let at = 0; at <= part.length; at++) t.true(scanner.valueEnd(at) <= part.length, `${text} ${at}`)
    }),
  )
})

test('limits: nesting is counted outside strings only', (t) => {
  t.is(nestingDepth(Buffer.from(' "[[["')), 0)
  t.is(nestingDepth(Buffer.from('{"a":"]}\\"[[","b":[{}]}')), 3)
  t.is(nestingDepth(Buffer.from('['.repeat(5000))), 5000)
})

test('limits: the length of arrays in bytes is that of the parsed value', (t) => {
  const longest = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 0
      : Math.max(Array.isArray(value) ? value.length : 0, ...Object.values(value).map(longest))
  fc.assert(
    fc.property(jsonText(), fc.integer({ min: 1, max: 6 }), (text, max) => {
      t.is(hasLongerArray(Buffer.from(text), max), longest(JSON.parse(text)) > max, text)
    }),
    { seed: 20 },
  )
  t.true(hasLongerArray(Buffer.from('[[1,2'), 1), 'whatever the bytes')
  t.false(hasLongerArray(Buffer.from(']],,,"[,,'), 1), 'whatever the bytes')
})

test('members: they cover the object, repeated and escaped names included', (t) => {
  const bytes = Buffer.from('{ "a" : 1, "\\u0061":[2], "b\\"c":{"a":3} ,"a":"x"}')
  t.deepEqual(
    objectMembers(bytes).map(({ name, value }) => [name, utf8(bytes.subarray(value.start, value.end))]),
    [
      ['a', '1'],
      ['a', '[2]'],
      ['b"c', '{"a":3}'],
      ['a', '"x"'],
    ],
  )
})

test('members: an added member leaves every byte before it unchanged', (t) => {
  fc.assert(
    fc.property(jsonObjectText(), (text) => {
      const bytes = withoutMember(Buffer.from(text), '_meta')
      const added = utf8(withMember(bytes, '_meta', '{"registry":"x"}'))
      const before = utf8(bytes).slice(0, utf8(bytes).lastIndexOf('}'))
      t.true(added.startsWith(before))
      t.regex(added.slice(before.length), /^,?"_meta":{"registry":"x"}}$/)
      t.deepEqual(JSON.parse(added), { ...JSON.parse(utf8(bytes)), _meta: { registry: 'x' } })
    }),
  )
})

test('members: every member of a name is removed in any spelling, the others stay to the byte', (t) => {
  const bytes = Buffer.from('{"_meta":1, "a": 99.0 ,"\\u005fmeta":{"_meta":2},"b":[ 1e2 ],"_meta":"x"}')
  t.is(utf8(withoutMember(bytes, '_meta')), '{"a": 99.0,"b":[ 1e2 ]}')
  const untouched = Buffer.from('{"a":{"_meta":1}}')
  t.is(withoutMember(untouched, '_meta'), untouched)
})

test('sameJson: values are equal in any spelling, and no others are', (t) => {
  const same = (one: string, other: string) => sameJson(parseJson(one), parseJson(other))
  t.true(same('{"a":1.0,"b":[null,"\\u0041"]}', '{ "b":[null,"A"], "a":1 }'))
  t.true(same('1180591620717411303424', '1180591620717411303424'))
  const other = ['1180591620717411303424', '1180591620717411303425']
  const objects = ['{"a":1}', '{"a":1,"b":2}', '{"b":1}', '{}', 'null']
  for (const different of [other, objects, ['[1,2]', '[2,1]', '[]', '{}'], ['1', '"1"', 'true']])
    for (const [n, one] of different.entries())
      for (const [m, two] of different.entries()) t.is(same(one, two), n === m, `${one} ${two}`)
  t.false(sameJson(undefined, null))
})

test('isJsonObject: an object is neither an array nor null', (t) => {
  t.deepEqual([{}, [], null, 'x', 1n].map(isJsonObject), [true, false, false, false, false])
})
