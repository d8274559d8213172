import test from 'ava'
import fc from 'fast-check'
import { MAX_FILTERS } from '../../../src/filter-spec/spec-file.ts'
import { readUpstreamSpec } from '../../../src/filter-spec/upstream-spec.ts'
import { jsonText } from '../../helpers/json-text.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'

const read = (body: object) => readUpstreamSpec(Buffer.from(JSON.stringify(body)))
const names = (body: object): string[] => [...read(body).filters.keys()]
const withFilters = (filters: readonly unknown[]) => ({ ...specBody('e', []), filters })

test('upstream spec: it has an etag, a schema id and filters in order', (t) => {
  const spec = read(specBody('abc', [filterOf('b'), filterOf('a')], ' vms.compute '))
  t.like(spec, { etag: 'abc', schemaId: 'vms.compute' })
  t.deepEqual([...spec.filters.keys()], ['b', 'a'])
  t.deepEqual(spec.filters.get('a')?.compiled, filterOf('a').compiled)
})

test('upstream spec: a filter that cannot be read or evaluated is dropped alone', (t) => {
  const bad = [
    ...['', 'limit', 'strict.x', 'a\u001b[2J', 'a\r\nb', '\ud800', 'x'.repeat(129)].map((name) => ({ name })),
    ...['$..price', '$.a[?(@.b)]', `$${'.a'.repeat(600)}`, `$.a${'[*]'.repeat(300)}`].map((path) => ({
      path,
    })),
    { op: 'like' },
    { value_type: 'date' },
    { op: 'range', value_type: 'string' },
    { on_missing: 'maybe' },
  ].map((members) => ({ ...filterOf('bad'), ...members }))
  const good = filterOf('good')
  t.deepEqual(names(withFilters([null, 7, {}, ...bad, good])), ['good'])
})

test('upstream spec: of two filters with one name the first counts', (t) => {
  const { filters } = read(withFilters([filterOf('a'), filterOf('a', { op: 'not_in' })]))
  t.is(filters.get('a')?.op, 'in')
})

test('upstream spec: the number of filters is limited', (t) => {
  const many = Array.from({ length: MAX_FILTERS + 1 }, (_, n) => filterOf(`f${n}`))
  t.is(names(withFilters(many)).length, MAX_FILTERS)
})

test('upstream spec: an etag that fits no header and a blank schema id are ignored', (t) => {
  for (const etag of ['', 'a b', 'a"b', 'a\r\nx: y', 'é', 'x'.repeat(129), 7, null])
    t.is(read({ ...specBody('', []), etag }).etag, null)
  for (const schema of [{}, { id: '  ' }, { id: 7 }, 'vms', null])
    t.is(read({ ...specBody('e', []), schema }).schemaId, null)
  t.is(read({ ...specBody('e', []), schema: 'a.compute.vms@1.0.0' }).schemaId, 'a.compute.vms@1.0.0')
  t.regex(read(specBody('e', [], `a\u0000${'b'.repeat(300)}`)).schemaId ?? '', /^a\ufffdb{126}$/)
})

test("upstream spec: a filter's Registries are read as names, past three gateways at most", (t) => {
  const from = (registries: unknown) => withFilters([{ ...filterOf('a'), registries }])
  const readNames = (registries: unknown) => read(from(registries)).registries.get('a')
  t.deepEqual(readNames(['curated', 'eu/open', 'a/b/c']), ['curated', 'eu/open', 'a/b/c'])
  t.deepEqual(readNames(['curated', 'Evil Name', 7, 'a\n', 'a/b/c/d', '']), ['curated'])
  for (const none of [[], ['a/b/c/d'], 'curated', 7, null]) t.deepEqual(names(from(none)), [])
  t.is(read(withFilters([filterOf('a')])).registries.size, 0)
})

test('upstream spec: any answer that is not a filter spec is refused', (t) => {
  const deep = `{"filters":${'['.repeat(10_000)}${']'.repeat(10_000)}}`
  for (const text of ['', 'null', '[]', '{}', '{"filters":{}}', '<html>', deep])
    t.throws(() => readUpstreamSpec(Buffer.from(text)), { instanceOf: SyntaxError })
  t.throws(() => readUpstreamSpec(Buffer.from([0x7b, 0xff, 0x7d])), { instanceOf: SyntaxError })
  fc.assert(
    fc.property(jsonText(), jsonText(), jsonText(), (one, two, three) => {
      const text = `{"etag":${one},"schema":${two},"filters":[${three},{"name":${one},"path":${two},"op":"in"}]}`
      t.notThrows(() => readUpstreamSpec(Buffer.from(text)))
    }),
  )
})
