import test from 'ava'
import fc from 'fast-check'
import { nestingDepth } from '../../src/json/limits.ts'
import { JsonScanner } from '../../src/json/scanner.ts'
import { jsonText } from '../helpers/json-text.ts'

const MAX_DEPTH = 4

/** Whether the whole text is one value, by the scanner. */
function isValue(text: string, depth = MAX_DEPTH): boolean {
  const bytes = Buffer.from(text)
  const scanner = new JsonScanner(bytes)
  const end = scanner.validValueEnd(scanner.skipSpace(0), depth)
  return end !== -1 && scanner.skipSpace(end) === bytes.length
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const agrees = (text: string): boolean =>
  isValue(text) === (isParsed(text) && nestingDepth(Buffer.from(text)) <= MAX_DEPTH)

test('validation: every text that JSON.parse accepts is valid, unless it nests too deep', (t) => {
  fc.assert(
    fc.property(jsonText(), fc.constantFrom('', ',', ']', ' 1', '\n'), (text, behind) => {
      const bytes = Buffer.from(text + behind)
      const depth = nestingDepth(Buffer.from(text))
      const scanner = new JsonScanner(bytes)
      const end = scanner.validValueEnd(scanner.skipSpace(0), MAX_DEPTH)
      if (depth > MAX_DEPTH) t.is(end, -1)
      else t.deepEqual(JSON.parse(bytes.toString('utf8', 0, end)), JSON.parse(text))
      t.is(isValue(text, depth), true)
      if (depth > 0) t.is(isValue(text, depth - 1), false)
    }),
    { numRuns: 2000 },
  )
})

test('skipping: a value ends where validation ends it', (t) => {
  fc.assert(
    fc.property(jsonText(), (text) => {
      const scanner = new JsonScanner(Buffer.from(text))
      const start = scanner.skipSpace(0)
      t.is(scanner.valueEnd(start), scanner.validValueEnd(start, Number.POSITIVE_INFINITY), text)
    }),
  )
})

test('skipping: it never passes the end of a text in a longer buffer', (t) => {
  fc.assert(
    fc.property(jsonText(), fc.nat(), jsonText(), (text, cut, older) => {
      const part = Buffer.from(text).subarray(0, cut % (text.length + 1))
      const scanner = new JsonScanner(Buffer.concat([part, Buffer.alloc(1), Buffer.from(older)]), part.length)
      for (let at = 0; at <= part.length; at++) t.true(scanner.valueEnd(at) <= part.length, `${text} ${at}`)
    }),
  )
})

/** What breaks JSON, and what does not, put into it anywhere or in the place of something. */
const SPLINTERS = [
  '"',
  '\\',
  '\\u12',
  '\\x',
  '\u0000',
  '\u001f',
  '\n',
  '\u007f',
  'é',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
]
const NUMBERISH = [
  '-',
  '+',
  '.',
  'e',
  'E+',
  '0',
  '00',
  '1',
  'tru',
  'null',
  'nul',
  ' ',
  '\t',
  '\u00a0',
  '\ufeff',
]

test('validation: it agrees with JSON.parse on damaged texts', (t) => {
  const broken = fc
    .tuple(jsonText(), fc.nat(), fc.nat({ max: 3 }), fc.constantFrom('', ...SPLINTERS, ...NUMBERISH))
    .map(([text, at, gone, put]) => {
      const place = at % (text.length + 1)
      return (text.slice(0, place) + put + text.slice(place + gone)).toWellFormed()
    })
  fc.assert(
    fc.property(broken, (text) => t.true(agrees(text), JSON.stringify(text))),
    { numRuns: 5000 },
  )
})

test('validation: it agrees with JSON.parse on every escape and number', (t) => {
  for (let code = 0; code < 0x180; code++) {
    const character = String.fromCharCode(code)
    for (const text of [
      `"\\${character}"`,
      `"${character}"`,
      `"abc${character}defg"`,
      `"\\u00${character}0"`,
    ])
      t.true(agrees(text), JSON.stringify(text))
  }
  const parts = ['', '-', '0', '1', '12', '.', '.5', 'e', 'e1', 'E+1', 'e-', 'x']
  for (const a of parts) for (const b of parts) for (const c of parts) t.true(agrees(a + b + c), a + b + c)
})
