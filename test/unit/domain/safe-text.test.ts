import test from 'ava'
import fc from 'fast-check'
import { redactCredentials, safeJson, safeText } from '../../../src/domain/safe-text.ts'

const ACTS =
  /[\ufe00-\ufe0f\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e01ef}]/u

/** Every code point, the dangerous ones often. */
const codePoint = fc.oneof(
  fc.integer({ min: 0, max: 0xff }),
  fc.integer({ min: 0x2000, max: 0x206f }),
  fc.integer({ min: 0xe0000, max: 0xe01ff }),
  fc.constantFrom(0x115f, 0x1160, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0),
  fc.integer({ min: 0, max: 0x10ffff }),
)
const anyText = fc.array(codePoint).map((points) => String.fromCodePoint(...points))

test('safe text: control, direction and invisible characters become escapes', (t) => {
  const property = fc.property(
    anyText,
    (text) => !ACTS.test(safeText(text).replace(/(?<=\p{Extended_Pictographic})\ufe0f/gu, '')),
  )
  t.notThrows(() => fc.assert(property))
  t.is(safeText('Tokyo, JP 東京 ünïcode 👍'), 'Tokyo, JP 東京 ünïcode 👍')
  t.is(safeText('a\u001b[2Jb\u{e0041}'), 'a\\u001b[2Jb\\udb40\\udc41')
})

test('safe text: emoji and joined letters stay as they are written', (t) => {
  for (const text of ['👩\u200d👩\u200d👧\u200d👦 ❤\ufe0f\u200d🔥', 'می\u200cخواهم', 'क्\u200dष क्\u200cष'])
    t.is(safeText(text), text)
  t.is(safeText('a\u200db \u200c \ufe0f'), 'a\\u200db \\u200c \\ufe0f')
})

test('safe text: JSON made safe is the same value', (t) => {
  const property = fc.property(fc.array(anyText), (value) => {
    const json = safeJson(JSON.stringify(value, null, 1))
    const isSame = JSON.stringify(JSON.parse(json)) === JSON.stringify(value)
    return isSame && !ACTS.test(json.replaceAll('\n', ''))
  })
  t.notThrows(() => fc.assert(property))
})

test('safe text: redactCredentials hides user and password, even one that holds an @', (t) => {
  t.is(redactCredentials('rediss://user:p@ss@host:6379/0'), 'rediss://…@host:6379/0')
  t.is(redactCredentials('http://host/a@b'), 'http://host/a@b')
  t.is(redactCredentials('/listings/a@b'), '/listings/a@b')
  for (const written of ['http:u:p@h', 'http:/u:p@h', 'HTTP:\\\\u:p@h', '//u:p@h', 'u:p@h', 'p@h'])
    t.regex(redactCredentials(written), /^(http:)?[/\\]*(u:)?…@h$/i, written)
})
