import test from 'ava'
import { ConfigError, EntrepotError } from '../../../src/errors.ts'
import { canonicalJson } from '../../../src/filter-spec/etag.ts'
import { matchesAll } from '../../../src/filter-spec/evaluate.ts'
import { renderFilterSpec } from '../../../src/filter-spec/filter.ts'
import { compileListingShape } from '../../../src/filter-spec/listing-shape.ts'
import { parseFilterSpec, readFilterSpec } from '../../../src/filter-spec/load.ts'
import { parseCriteria } from '../../../src/filter-spec/parameters.ts'
import { readYaml } from '../../../src/filter-spec/yaml-document.ts'
import { type FilterVector, filterVectors } from '../../helpers/filter-vectors.ts'

const filter = 'name: f, path: $.f, op: in, value_type: string'
const head = 'version: 1\nlisting_shape: {}\n'

/** What is refused, where, and why: `[yaml, path, message]`. */
const refusals: Record<string, [text: string, path: string, message: RegExp]> = {
  'an empty file': ['', '', /expected object, received null/],
  'a syntax error': [`${head}filters: [`, 'line 3, column 11', /must .*end with a \]/],
  'a duplicate key': [`${head}version: 2\nfilters: []`, 'line 3, column 1', /must be unique/],
  'a second document': [`${head}filters: []\n---\na: 1`, 'line 4, column 1', /multiple documents/],
  'an unknown tag': [`${head}filters: !mine []`, 'line 3, column 10', /Unresolved tag: !mine/],
  'an unquoted date': [
    'listing_shape: {title: 2026-11-20}',
    'line 1, column 24',
    /is a date: write it in quotes/,
  ],
  'a number that JSON lacks': ['listing_shape: {minimum: -.inf}', 'line 1, column 26', /not a JSON number/],
  'a float beyond doubles': ['listing_shape: {minimum: 1.0e+999}', 'line 1, column 26', /not a JSON number/],
  'a key that YAML 1.1 reads as a boolean': [
    `version: 1\nlisting_shape: {properties: {on: {}}}\nfilters: []`,
    'listing_shape.properties',
    /key true is not a string/,
  ],
  'a file beyond its budget': [`#${'x'.repeat(262_144)}`, '', /longer than 262144 characters/],
  'a document that holds itself': ['&a [*a]', '', /nested deeper than 64/],
  'aliases that multiply': [
    `a: &a0 [x, x]\n${Array.from({ length: 20 }, (_, n) => `b${n}: &a${n + 1} [*a${n}, *a${n}]`).join('\n')}`,
    '',
    /Excessive alias count/,
  ],
  'too many values': [`[${'1,'.repeat(20_000)}]`, '', /more than 20000 values/],
  'an unknown key': [`${head}filters: []\ncolour: red`, '', /Unrecognized key: "colour"/],
  'a missing version': ['listing_shape: {}\nfilters: []', 'version', /is missing/],
  'version 0': ['version: 0\nlisting_shape: {}\nfilters: []', 'version', />=1/],
  'half a version': ['version: 1.5\nlisting_shape: {}\nfilters: []', 'version', /expected int/],
  'a missing listing shape': ['version: 1\nfilters: []', 'listing_shape', /is missing/],
  'a listing shape that is a list': [
    'version: 1\nlisting_shape: []\nfilters: []',
    'listing_shape',
    /received array/,
  ],
  'a listing shape that is no schema': [
    'version: 1\nlisting_shape: {type: objekt}\nfilters: []',
    'listing_shape',
    /not a JSON Schema 2020-12: .*type/,
  ],
  'a listing shape that points elsewhere': [
    "version: 1\nlisting_shape: {$ref: 'https://other.example/x'}\nfilters: []",
    'listing_shape',
    /can't resolve reference https:\/\/other.example\/x/,
  ],
  'a schema without id': [`${head}filters: []\nschema: {}`, 'schema.id', /is missing/],
  'a schema with an empty id': [
    `${head}filters: []\nschema_identity: {id: ''}`,
    'schema_identity.id',
    />=1 char/,
  ],
  'an unknown key in the schema': [`${head}filters: []\nschema: {id: x, colour: 1}`, 'schema', /"colour"/],
  'both spellings of the schema': [
    `${head}filters: []\nschema: {id: x}\nschema_identity: {id: x}`,
    'schema_identity',
    /write only one/,
  ],
  'filters that are no list': [`${head}filters: {}`, 'filters', /expected array/],
  'too many filters': [`${head}filters: [${'{},'.repeat(257)}]`, 'filters', /<=256 items/],
  'a filter that is no mapping': [`${head}filters: [5]`, 'filters[0]', /expected object/],
  'a filter without a name': [
    `${head}filters: [{path: a, op: in, value_type: string}]`,
    'filters[0].name',
    /is missing/,
  ],
  'a filter with an empty name': [
    `${head}filters: [{name: '', path: a, op: in, value_type: string}]`,
    "filters[0].name (filter '')",
    />=1 char/,
  ],
  'a name that is a number': [
    `${head}filters: [{name: 5, path: a, op: in, value_type: string}]`,
    'filters[0].name',
    /string/,
  ],
  'an unknown key in a filter': [
    `${head}filters: [{${filter}, colour: red}]`,
    "filters[0] (filter 'f')",
    /"colour"/,
  ],
  'an unknown op': [
    `${head}filters: [{name: f, path: a, op: eq, value_type: string}]`,
    "filters[0].op (filter 'f')",
    /"in"\|"not_in"\|"range"\|"exists"/,
  ],
  'an unknown value type': [
    `${head}filters: [{name: f, path: a, op: in, value_type: date}]`,
    "filters[0].value_type (filter 'f')",
    /"string"\|"integer"/,
  ],
  'an unknown alias kind': [
    `${head}filters: [{${filter}, alias_kind: min}]`,
    "filters[0].alias_kind (filter 'f')",
    /bound/,
  ],
  'an on_missing that YAML 1.1 reads as a boolean': [
    `${head}filters: [{${filter}, on_missing: no}]`,
    "filters[0].on_missing (filter 'f')",
    /"fail"\|"pass"/,
  ],
  'an indexed that is no boolean': [
    `${head}filters: [{${filter}, indexed: 2}]`,
    "filters[0].indexed (filter 'f')",
    /boolean/,
  ],
  'a name that comes twice': [
    `${head}filters: [{${filter}}, {${filter}}]`,
    "filters[1].name (filter 'f')",
    /taken by filters\[0\]/,
  ],
  'a query name that comes twice': [
    `${head}filters: [{${filter}, query_name: g}, {name: g, path: a, op: in, value_type: string}]`,
    "filters[1].query_name (filter 'g')",
    /'g' is a name of filters\[0\]/,
  ],
  "an alias that is another filter's name": [
    `${head}filters: [{${filter}}, {name: g, query_aliases: [h, f], path: a, op: in, value_type: string}]`,
    "filters[1].query_aliases[1] (filter 'g')",
    /'f' is a name of filters\[0\]/,
  ],
  "an alias that is its own filter's name": [
    `${head}filters: [{${filter}, query_aliases: [f]}]`,
    "filters[0].query_aliases[0] (filter 'f')",
    /'f' is a name of filters\[0\]/,
  ],
  'a query name of other characters': [
    `${head}filters: [{${filter}, query_name: ram gb}]`,
    "filters[0].query_name (filter 'f')",
    /letters, digits/,
  ],
  'a range of strings': [
    `${head}filters: [{name: f, path: a, op: range, value_type: string}]`,
    "filters[0].value_type (filter 'f')",
    /op 'range' needs/,
  ],
  'a range of booleans': [
    `${head}filters: [{name: f, path: a, op: range, value_type: boolean}]`,
    "filters[0].value_type (filter 'f')",
    /op 'range' needs/,
  ],
  'a path of another dialect': [
    `${head}filters: [{name: f, path: '$.tags[0:2].x', op: in, value_type: string}]`,
    "filters[0].path (filter 'f')",
    /cannot read '\[0:2\]\.x' in path/,
  ],
  'an empty path': [
    `${head}filters: [{name: f, path: '', op: in, value_type: string}]`,
    "filters[0].path (filter 'f')",
    /./,
  ],
}

for (const [what, [text, path, message]] of Object.entries(refusals)) {
  test(`refused at start, with the file, the place and the reason: ${what}`, (t) => {
    const error = t.throws(() => parseFilterSpec(text, 'spec.yaml'), { instanceOf: ConfigError })
    const place = path === '' ? 'spec.yaml' : `spec.yaml: ${path}`
    const messages = error.problems
      .filter((problem) => problem.path === place)
      .map((problem) => problem.message)
    t.true(
      messages.some((text) => message.test(text)),
      error.message.slice(0, 500),
    )
  })
}

for (const name of ['status', 'limit', 'offset', 'publisher', 'strict.f']) {
  test(`a filter cannot be named '${name}'`, (t) => {
    const text = `${head}filters: [{name: ${name}, path: a, op: in, value_type: string}]`
    const error = t.throws(() => parseFilterSpec(text, 'spec.yaml'), { instanceOf: ConfigError })
    t.deepEqual(
      error.problems.map(({ path }) => path),
      [`spec.yaml: filters[0].name (filter '${name}')`],
    )
  })
}

test('spec file: nesting that exhausts the stack is refused like any other defect', (t) => {
  t.throws(() => parseFilterSpec('['.repeat(100_000), 'spec.yaml'), { instanceOf: ConfigError })
})

test('spec file: every problem is reported at once', (t) => {
  const text = `
version: 0
colour: red
listing_shape: {type: objekt}
filters:
  - {name: status, path: $..a, op: range, value_type: string, size: 1}
  - {name: a, op: eq}
`
  const error = t.throws(() => parseFilterSpec(text, 'spec.yaml'), { instanceOf: ConfigError })
  t.deepEqual(error.problems.map(({ path }) => path.replace('spec.yaml', '')).sort(), [
    '',
    ": filters[0] (filter 'status')",
    ": filters[0].name (filter 'status')",
    ": filters[0].path (filter 'status')",
    ": filters[0].value_type (filter 'status')",
    ": filters[1].op (filter 'a')",
    ": filters[1].path (filter 'a')",
    ": filters[1].value_type (filter 'a')",
    ': listing_shape',
    ': version',
  ])
})

test('spec file: a file that cannot be read is refused by its name', (t) => {
  const error = t.throws(() => readFilterSpec('/no/such/file.yaml'), { instanceOf: ConfigError })
  t.deepEqual(error.problems, [{ path: '/no/such/file.yaml', message: 'cannot be read: no such file' }])
})

for (const version of ['2', '2.0', '"2"', '"2.0"', '+2', '0b10', '0x2', '02']) {
  test(`version ${version} is 2`, (t) => {
    t.is(parseFilterSpec(`version: ${version}\nlisting_shape: {}\nfilters: []`, 'spec.yaml').version, 2)
  })
}

test('spec file: a version of true is 1', (t) => {
  t.is(parseFilterSpec('version: on\nlisting_shape: {}\nfilters: []', 'spec.yaml').version, 1)
})

test('spec file: unset keys take their defaults, and null is an alias kind', (t) => {
  const { filters } = parseFilterSpec(
    `${head}filters: [{${filter}}, {${filter.replace('f', 'g')}, alias_kind: ~, indexed: 'yes'}]`,
    'spec.yaml',
  )
  t.like(filters.get('f'), { alias_kind: null, on_missing: 'fail', indexed: false })
  t.like(filters.get('g'), { alias_kind: null, indexed: true })
})

test('spec file: names that objects inherit are names like any other', (t) => {
  const text = `version: 1
listing_shape: {properties: {__proto__: {type: string}}}
filters: [{name: __proto__, path: $.__proto__, op: in, value_type: string}]`
  const spec = parseFilterSpec(text, 'spec.yaml')
  t.is(spec.filters.get('__proto__')?.path, '$.__proto__')
  t.true(renderFilterSpec(spec).includes('{"properties":{"__proto__":{"type":"string"}}}'))
})

test('spec file: merge keys and aliases are resolved', (t) => {
  const text = `version: 1
listing_shape: {a: &a {type: string}, b: {<<: *a, minLength: 1}, c: *a}
filters: []`
  t.deepEqual(parseFilterSpec(text, 'spec.yaml').listingShape, {
    a: { type: 'string' },
    b: { minLength: 1, type: 'string' },
    c: { type: 'string' },
  })
})

test('filter spec: the document has every key in the order of the protocol, nulls included', (t) => {
  const spec = parseFilterSpec(`${head}filters: [{${filter}}]`, 'spec.yaml')
  const shown =
    '{"name":"f","path":"$.f","op":"in","value_type":"string","alias_kind":null,"on_missing":"fail","indexed":false}'
  const body = `{"version":1,"etag":"${spec.etag}","listing_shape":{},"filters":[${shown}]`
  t.is(renderFilterSpec(spec), `${body}}`)
  t.is(
    renderFilterSpec({ ...spec, schema: { id: 'vms.compute', version: 1 } }),
    `${body},"schema":{"id":"vms.compute","version":1}}`,
  )
})

const configured = (name: string) =>
  readFilterSpec(new URL(`../../../config/${name}`, import.meta.url).pathname)

test('filter spec: the filters of virtual machines are those of the deployed market', (t) => {
  const spec = configured('filter-spec.yaml')
  const minimums =
    'gpu_count vcpu_count ram_gb disk_gb host_cpu_cores host_ram_gb host_disk_gb total_gpu_count nic_speed_gbps internet_download_mbps internet_upload_mbps open_ports_count'
  t.is(spec.version, 5)
  t.deepEqual(spec.schema, { id: 'vms.compute', version: 1 })
  t.deepEqual(
    [...spec.filters.keys()],
    [
      ...'region gpu_model sla cpu_type host_disk_type motherboard gpu_interconnect virtualization_type static_ip datacenter_grade'.split(
        ' ',
      ),
      ...minimums.split(' ').map((name) => `${name}_min`),
      ...['token', 'token_exclude', 'has_oracle'],
    ],
  )
  t.like(spec.filters.get('ram_gb_min'), {
    path: '$.offer_resource.ram_gb',
    op: 'range',
    alias_kind: 'lower_bound',
  })
})

test('filter spec: API credits have three filters', (t) => {
  const spec = configured('filter-spec.apicredits.yaml')
  t.is(spec.version, 1)
  t.deepEqual([...spec.filters.keys()], ['service_name', 'token', 'token_exclude'])
})

const escrow = { chain_name: 'anvil', escrow_address: '0x11', literal_fields: { token: '0x22' } }
const machine = {
  listing_id: 'a',
  storefront_url: 'http://s/',
  offer_resource: { gpu_model: 'RTX 4070 Ti Super', region: 'Tokyo, JP', gpu_count: 0, vm_host: 'x' },
  accepted_escrows: [escrow],
  demands: [],
  max_duration_seconds: null,
}

test('listing shape: virtual machines accept what sellers send and nothing else', (t) => {
  const valid = compileListingShape(configured('filter-spec.yaml').listingShape)
  t.true(valid(machine))
  for (const change of [
    { accepted_escrows: [] },
    { storefront_url: '' },
    { max_duration_seconds: 0 },
    { accepted_escrows: [{ ...escrow, literal_fields: { token: 5 } }] },
    { offer_resource: { ...machine.offer_resource, gpu_model: 4070 } },
    { offer_resource: { ...machine.offer_resource, open_ports_count: -1 } },
    { offer_resource: { gpu_model: 'H100' } },
  ]) {
    t.false(valid({ ...machine, ...change }), JSON.stringify(change))
  }
})

test('listing shape: API credits require a service name', (t) => {
  const valid = compileListingShape(configured('filter-spec.apicredits.yaml').listingShape)
  t.true(valid({ ...machine, offer_resource: { service_name: 'weather-api', description: null } }))
  t.false(valid({ ...machine, offer_resource: { service_name: '' } }))
})

const vectors = filterVectors()

test('vectors: every test vector is present', (t) => {
  t.is(vectors.length, 553)
  t.is(new Set(vectors.map(({ id }) => id)).size, 553)
})

for (const vector of vectors) {
  test(`the deployed protocol's ${vector.id}: ${vector.expected}`, (t) => {
    if (vector.expected === 'error') {
      const error = t.throws(() => parseCriteria(vector.spec, vector.pairs), { instanceOf: EntrepotError })
      t.is(error.status, 400)
      t.is(error.message, ourSentence(vector))
    } else {
      const criteria = parseCriteria(vector.spec, vector.pairs)
      t.is(matchesAll(criteria, vector.listing) ? 'match' : 'no-match', vector.expected)
    }
  })
}

/** The deployed sentence; where it shows a line break as Python's escape, ours has the line break. */
const ourSentence = ({ detail }: FilterVector): string => detail!.replaceAll('\\n', '\n')

/** Plain scalars and what PyYAML 6.0.3's `safe_load` makes of them, as Python dumps it. */
const readings: Record<string, string[]> = {
  true: ['yes', 'Yes', 'on', 'true', 'TRUE'],
  false: ['no', 'NO', 'Off', 'False'],
  null: ['~', 'null', 'Null', ''],
  '"y"': ['y'],
  '"n"': ['n'],
  '"tRue"': ['tRue'],
  '8': ['010', '0b1000', '0x8', '+8', '!!int 8'],
  '7': ['0_7', '007'],
  '-31': ['-0x1f'],
  '0': ['0', '-0', '00'],
  '"08"': ['08'],
  '"0o10"': ['0o10'],
  '1000': ['1_000'],
  '"_1"': ['_1'],
  '90': ['1:30'],
  '-90': ['-1:30'],
  '90.5': ['1:30.5'],
  '"12:61"': ['12:61'],
  '"1e3"': ['1e3'],
  '"1.0e3"': ['1.0e3'],
  '1000.0': ['1.0e+3', '1.e+3', '1_000.'],
  '1.0': ['1.0', '1.'],
  '-0.0': ['-0.0'],
  '0.5': ['.5'],
  '"-.5"': ['-.5'],
  '1e-05': ['1.0e-5'],
  '685230.15': ['685_230.15'],
  '123456789012345678901234567890': ['123456789012345678901234567890'],
  '"NaN"': ['NaN'],
  '"123"': ['!!str 123', '"123"', "'123'"],
  '"2026-11-20"': ["'2026-11-20'", '!!str 2026-11-20'],
  '"."': ['.'],
  '"-"': ["'-'"],
  '"="': ["'='"],
}

for (const [json, texts] of Object.entries(readings)) {
  for (const text of texts) {
    test(`YAML 1.1 reads ${text === '' ? 'nothing' : text} as ${json}`, (t) => {
      const reading = readYaml(`v: ${text}`)
      t.is('value' in reading ? canonicalJson(reading.value) : reading.problems, `{"v":${json}}`)
    })
  }
}

test('YAML: a directive for another version changes nothing', (t) => {
  t.deepEqual(readYaml('%YAML 1.2\n---\nv: yes'), { value: { v: true } })
})
