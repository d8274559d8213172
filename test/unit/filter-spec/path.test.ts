import test from 'ava'
import fc from 'fast-check'
import { parseFilterSpec } from '../../../src/filter-spec/load.ts'
import { compilePath, MAX_PATH_CHARACTERS, resolvePath } from '../../../src/filter-spec/path.ts'
import type { JsonValue } from '../../../src/json/value.ts'

const find = (path: string, document: JsonValue) => resolvePath(compilePath(path), document)

const found: [path: string, document: JsonValue, values: JsonValue[]][] = [
  ['$', { a: 1 }, [{ a: 1 }]],
  ['$', null, []],
  ['a.b', { a: { b: 1 } }, [1]],
  ['$.a.b', { a: { b: false } }, [false]],
  ['$.a.b', { a: { b: null } }, []],
  ['$.a.b', { a: [{ b: 1 }] }, []],
  ['$.a.b', { a: 'b' }, []],
  ['$["a"][\'b c\']', { a: { 'b c': '' } }, ['']],
  ['[\'a\\\'b\']["c\\"d\\\\"]', { "a'b": { 'c"d\\': 1 } }, [1]],
  ["$['a.b']", { 'a.b': 1, a: { b: 2 } }, [1]],
  ["$['*']", { '*': 1 }, [1]],
  ["$['é']", { é: 1 }, [1]],
  ['$.@type', { '@type': 1 }, [1]],
  ['$.gpu-model.a@b', { 'gpu-model': { 'a@b': 1 } }, [1]],
  ['$.a.5', { a: { 5: 1 } }, [1]],
  ['$.a.5', { a: [0, 1, 2, 3, 4, 5] }, []],
  ["$['where'].wheres.an_true", { where: { wheres: { an_true: 1 } } }, [1]],
  ['$.a[1]', { a: ['x', 'y'] }, ['y']],
  ['$.a[-1]', { a: ['x', 'y'] }, ['y']],
  ['$.a[-3]', { a: ['x', 'y'] }, []],
  ['$.a[2]', { a: ['x', 'y'] }, []],
  ['$.a[0]', { a: 'xy' }, []],
  ['$.a[0]', { a: { 0: 'x' } }, []],
  ['$[0]', ['x'], ['x']],
  ['$.a[*]', { a: ['x', null, ['y'], {}] }, ['x', ['y'], {}]],
  ['$.a[*]', { a: { b: 1 } }, [{ b: 1 }]],
  ['$.a[*]', { a: 0 }, [0]],
  ['$.a[*]', { a: null }, []],
  ['$.a[*]', { a: [] }, []],
  ['$.a[*].b', { a: { b: 1 } }, [1]],
  ['$.a[*][*].b', { a: [{ b: 1 }, [{ b: 2 }, null], null] }, [1, 2]],
]

test('path: it finds what is at its place, and nothing elsewhere', (t) => {
  for (const [path, document, values] of found)
    t.deepEqual(find(path, document), values, `${path} ${JSON.stringify(document)}`)
})

test('path: `a.b` is the place of `$.a.b`, under another etag', (t) => {
  const spec = (path: string) =>
    parseFilterSpec(
      `version: 1\nlisting_shape: {}\nfilters: [{name: f, path: ${path}, op: in, value_type: string}]`,
      'spec.yaml',
    )
  const [short, long] = [spec('a.b'), spec('$.a.b')]
  t.deepEqual(short.filters.get('f')?.compiled, long.filters.get('f')?.compiled)
  t.not(short.etag, long.etag)
})

const refused: [path: string, part: string][] = [
  ['$a', "'a'"],
  ['$.', "'.'"],
  ['$..token', "'..token'"],
  ['$.a.*', "'.*'"],
  ['$.a b', "' b'"],
  [' $.a', "' $.a'"],
  ['$.a[0:2]', "'[0:2]'"],
  ['$.a[0,1]', "'[0,1]'"],
  ["$['a','b']", "'['a','b']'"],
  ['$.a[?(@.b)]', "'[?(@.b)]'"],
  ['$.a[01', "'[01'"],
  ['$.a[99999999999]', "'[99999999999]'"],
  ["$['a", "'['a'"],
  ['$.a | $.b', "' | $.b'"],
  ['$.a.`len`', "'.`len`'"],
  ['$.é', "'.é'"],
  ['$.5x', "'.5x'"],
  ['$.05', "'.05'"],
  ['$.trueish', "write ['trueish']"],
  ['where', "write ['where']"],
]

test('path: of one that is refused, the part that cannot be read is named', (t) => {
  for (const [path, part] of refused) {
    const error = t.throws(() => compilePath(path), { instanceOf: SyntaxError }, path)
    t.true(error.message.includes(part), error.message)
  }
})

test('path: an empty path and one beyond its budget are refused', (t) => {
  t.throws(() => compilePath(''), { message: /empty/ })
  t.throws(() => compilePath('a'.repeat(MAX_PATH_CHARACTERS + 1)), { message: /longer than 1000/ })
  t.is(compilePath('a'.repeat(MAX_PATH_CHARACTERS)).length, 1)
})

test('path: one of more steps than a listing nests, or of very many [*], is refused', (t) => {
  t.is(compilePath(`$${'.a'.repeat(28)}${'[*]'.repeat(4)}`).length, 32)
  t.throws(() => compilePath(`$${'.a'.repeat(33)}`), { message: /more than 32 steps/ })
  t.throws(() => compilePath(`$.a${'[*]'.repeat(5)}`), { message: /\[\*\] more than 4 times/ })
})

test('path: inherited members are never found', (t) => {
  for (const name of ['__proto__', 'constructor', 'toString', 'length'])
    for (const a of [{}, [1], 'x']) t.deepEqual(find(`$.a.${name}`, { a }), [])
  t.deepEqual(find('$.__proto__', JSON.parse('{"__proto__":1}')), [1])
})

test('path: any text is a path or a SyntaxError, and any path resolves in any document', (t) => {
  const text = fc.oneof(
    fc.string(),
    fc.stringMatching(/^\$?(\.[a-c]|\[-?[0-3]\]|\[\*\]|\['[^']?'\]|[.[\]*'"\\]){0,6}$/),
  )
  fc.assert(
    fc.property(text, fc.jsonValue(), (path, document) => {
      try {
        for (const value of find(path, document as JsonValue)) t.true(value !== null && value !== undefined)
      } catch (error) {
        t.true(error instanceof SyntaxError)
      }
    }),
  )
  t.pass()
})
