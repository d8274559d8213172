import { createHash } from 'node:crypto'
import test from 'ava'
import { canonicalForm, canonicalJson, Float } from '../../../src/filter-spec/etag.ts'
import type { FilterDefinition } from '../../../src/filter-spec/filter.ts'
import { parseFilterSpec } from '../../../src/filter-spec/load.ts'

const region: FilterDefinition = {
  name: 'region',
  path: '$.offer_resource.region',
  op: 'in',
  value_type: 'string',
  alias_kind: null,
  on_missing: 'fail',
  indexed: false,
}
const first = `version: 1
listing_shape: {type: object}
filters:
  - {name: region, path: $.offer_resource.region, op: in, value_type: string, on_missing: fail}
`

const second = `version: 1
schema: {id: demo.é}
listing_shape: {z: 1, title: café 🚀, type: object, a: {y: 1.0, x: null}}
filters:
  - {name: region, path: $.offer_resource.region, op: in, value_type: string}
`

const etagOf = (text: string) => parseFilterSpec(text, 'spec.yaml').etag

test('etag: the first worked example has the documented etag', (t) => {
  t.is(etagOf(first), 'b936774f972d12d262af5f60acb5b041cc3bb94318f52230e5d0a6561a0c7f3d')
})

test('etag: the signed line has another one, of the names of its query language, too', (t) => {
  const signedOf = (text: string) => parseFilterSpec(text, 'spec.yaml').signedEtag
  t.is(signedOf(first), 'cf83ab33014db05c8f28e220c5b740db57c3606840ba727c3fdd689238f28843')
  const named = first.replace('name: region,', 'name: region, query_name: place, query_aliases: [region],')
  t.not(signedOf(named), signedOf(first))
  t.is(etagOf(named), etagOf(first))
})

test('etag: the variant with a schema has the documented etag in both spellings', (t) => {
  const expected = 'cd76f30faa601080202533939169448979464469eef4ad8438911edc157b089c'
  t.is(etagOf(`${first}schema: {id: tokens.api}`), expected)
  t.is(etagOf(`${first}schema_identity: {id: tokens.api}`), expected)
})

test('etag: the second worked example has the documented canonical form and etag', (t) => {
  const canonical = String.raw`{"filters":[{"alias_kind":null,"indexed":false,"name":"region","on_missing":"fail","op":"in","path":"$.offer_resource.region","value_type":"string"}],"listing_shape":{"a":{"x":null,"y":1.0},"title":"caf\u00e9 \ud83d\ude80","type":"object","z":1},"schema":{"id":"demo.\u00e9","version":1},"version":1}`
  const listingShape = { z: 1, title: 'café 🚀', type: 'object', a: { y: new Float(1), x: null } }
  const schema = { id: 'demo.é', version: 1 }
  t.is(canonicalForm({ version: 1, schema, listingShape, filters: [region] }), canonical)
  const expected = 'b649ed00fc848b19d606e2bba6804ad60c68a45c0d7c3972b5b412cfbe85afb7'
  t.is(createHash('sha256').update(canonical).digest('hex'), expected)
  t.is(etagOf(second), expected)
})

test('etag: the order of filters counts, the order of keys does not', (t) => {
  const filters = ['a', 'b'].map((name) => `{name: ${name}, path: ${name}, op: in, value_type: string}`)
  const spec = (list: string[]) => `version: 1\nlisting_shape: {}\nfilters: [${list.join(', ')}]`
  t.not(etagOf(spec(filters)), etagOf(spec(filters.toReversed())))
  t.is(
    etagOf(second),
    etagOf(second.replace('{z: 1, title', '{title').replace('x: null}}', 'x: null}, z: 1}')),
  )
})

const floats: [number, string][] = [
  [1, '1.0'],
  [-0, '-0.0'],
  [0.1, '0.1'],
  [-2.5, '-2.5'],
  [100, '100.0'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [1.5e-7, '1.5e-07'],
  [123456789.125, '123456789.125'],
  [1e15, '1000000000000000.0'],
  [9007199254740992, '9007199254740992.0'],
  [1e16, '1e+16'],
  [1.25e22, '1.25e+22'],
  [5e-324, '5e-324'],
  [1.7976931348623157e308, '1.7976931348623157e+308'],
]

test('canonical JSON: a float is written as Python writes it', (t) => {
  for (const [value, text] of floats) t.is(canonicalJson(new Float(value)), text)
})

test('canonical JSON: an integer of any size is exact', (t) => {
  t.is(canonicalJson([2n ** 256n, -1]), `[${2n ** 256n},-1]`)
})

test('canonical JSON: names are ordered by code point, not by UTF-16 unit', (t) => {
  t.is(
    canonicalJson({ '\u{10000}': 1, '\uffff': 2, b: 3, B: 4 }),
    String.raw`{"B":4,"b":3,"\uffff":2,"\ud800\udc00":1}`,
  )
})

test('canonical JSON: all but printable ASCII is escaped, in the short form if there is one', (t) => {
  t.is(canonicalJson('\b\f\n\r\t"\\/\0\x1f\x7f é'), String.raw`"\b\f\n\r\t\"\\/\u0000\u001f\u007f \u00e9"`)
})
