import test from 'ava'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import type { JsonValue } from '../../../src/json/value.ts'
import { bodyHash, canonicalJson } from '../../../src/signing/canonical-json.ts'
import { runs } from '../../helpers/runs.ts'

const hashOf = (text: string): string => bodyHash(Buffer.from(text))

test('canonical JSON: as a second implementation writes it', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'grapheme-composite' }), (value) => {
      t.is(canonicalJson(value as JsonValue), canonicalize(value)!)
    }),
    { numRuns: runs(2000) },
  )
})

test('canonical JSON: spacing, order, escapes and the last of repeated members do not change the hash', (t) => {
  const hash = hashOf('{"a":[1,99],"é":"x\\n"}')
  t.is(hashOf(' { "\\u00e9" : "x\\u000a" , "a" : [ 1.0, 9.9e1 ] } '), hash)
  t.is(hashOf('{"a":0,"é":"x\\n","a":[1,99]}'), hash)
  t.not(hashOf('null'), hashOf(''))
})

test('canonical JSON: integers that JSON readers round, and half a surrogate pair, have no form', (t) => {
  const rounded = ['9007199254740992', '[-9007199254740993]', '1e400']
  for (const text of [...rounded, '"\\ud800"', '{"\\udc00":1}', '[1,', '{a:1}'])
    t.throws(() => hashOf(text), { instanceOf: SyntaxError }, text)
  for (const text of ['9007199254740991', '9007199254740992.0', '1e20', '1e+21', '-0', '-0.0'])
    t.notThrows(() => hashOf(text), text)
  t.is(
    canonicalJson([-0, 1e21, 1e20, 1e-7, 9007199254740992]),
    '[0,1e+21,100000000000000000000,1e-7,9007199254740992]',
  )
  t.throws(() => hashOf('['.repeat(501) + ']'.repeat(501)), { message: /nested/ })
})
