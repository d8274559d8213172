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

type Refusal = [path: string, message: RegExp]

/** What a file is refused for. */
const FILES: Readonly<Record<string, Refusal>> = {
  '': ['', /expected object, received null/],
  [`${head}filters: [`]: ['line 3, column 11', /must .*end with a \]/],
  [`${head}version: 2\nfilters: []`]: ['line 3, column 1', /must be unique/],
  [`${head}filters: []\n---\na: 1`]: ['line 4, column 1', /multiple documents/],
  [`${head}filters: !mine []`]: ['line 3, column 10', /Unresolved tag: !mine/],
  'listing_shape: {title: 2026-11-20}': ['line 1, column 24', /is a date: write it in quotes/],
  'listing_shape: {minimum: -.inf}': ['line 1, column 26', /not a JSON number/],
  'listing_shape: {minimum: 1.0e+999}': ['line 1, column 26', /not a JSON number/],
  'listing_shape: {properties: {on: {}}}': ['listing_shape.properties', /key true is not a string/],
  [`#${'x'.repeat(262_144)}`]: ['', /longer than 262144 characters/],
  '&a [*a]': ['', /nested deeper than 64/],
  [`a: &a0 [x, x]\n${Array.from({ length: 20 }, (_, n) => `b${n}: &a${n + 1} [*a${n}, *a${n}]`).join('\n')}`]:
    ['', /Excessive alias count/],
  [`[${'1,'.repeat(20_000)}]`]: ['', /more than 20000 values/],
  [`${head}filters: []\ncolour: red`]: ['', /Unrecognized key: "colour"/],
  'listing_shape: {}\nfilters: []': ['version', /is missing/],
  'version: 0\nlisting_shape: {}': ['version', />=1/],
  'version: 1.5\nlisting_shape: {}': ['version', /expected int/],
  'version: 1\nfilters: []': ['listing_shape', /is missing/],
  'listing_shape: []': ['listing_shape', /received array/],
  'listing_shape: {type: objekt}': ['listing_shape', /not a JSON Schema 2020-12: .*type/],
  "listing_shape: {$ref: 'https://other.example/x'}": ['listing_shape', /can't resolve .*other.example\/x/],
  'schema: {}': ['schema.id', /is missing/],
  "schema_identity: {id: ''}": ['schema_identity.id', />=1 char/],
  'schema: {id: x, colour: 1}': ['schema', /"colour"/],
  [`${head}filters: []\nschema: {id: x}\nschema_identity: {id: x}`]: ['schema_identity', /write only one/],
  'filters: {}': ['filters', /expected array/],
  [`filters: [${'{},'.repeat(257)}]`]: ['filters', /<=256 items/],
}

const other = 'path: a, op: in, value_type: string'

/** What a list of filters is refused for. */
const FILTERS: Readonly<Record<string, Refusal>> = {
  5: ['[0]', /expected object/],
  [`{${other}}`]: ['[0].name', /is missing/],
  [`{name: '', ${other}}`]: ["[0].name (filter '')", />=1 char/],
  [`{name: 5, ${other}}`]: ['[0].name', /string/],
  [`{${filter}, colour: red}`]: ["[0] (filter 'f')", /"colour"/],
  '{name: f, path: a, op: eq, value_type: string}': [
    "[0].op (filter 'f')",
    /"in"\|"not_in"\|"range"\|"exists"/,
  ],
  '{name: f, path: a, op: in, value_type: date}': ["[0].value_type (filter 'f')", /"string"\|"integer"/],
  [`{${filter}, alias_kind: min}`]: ["[0].alias_kind (filter 'f')", /bound/],
  [`{${filter}, on_missing: no}`]: ["[0].on_missing (filter 'f')", /"fail"\|"pass"/],
  [`{${filter}, indexed: 2}`]: ["[0].indexed (filter 'f')", /boolean/],
  [`{${filter}}, {${filter}}`]: ["[1].name (filter 'f')", /taken by filters\[0\]/],
  [`{${filter}, query_name: g}, {name: g, ${other}}`]: [
    "[1].query_name (filter 'g')",
    /'g' is a name of filters\[0\]/,
  ],
  [`{${filter}}, {name: g, query_aliases: [h, f], ${other}}`]: [
    "[1].query_aliases[1] (filter 'g')",
    /'f' is a name of filters\[0\]/,
  ],
  [`{${filter}, query_aliases: [f]}`]: ["[0].query_aliases[0] (filter 'f')", /'f' is a name of filters\[0\]/],
  [`{${filter}, query_name: ram gb}`]: ["[0].query_name (filter 'f')", /letters, digits/],
  '{name: f, path: a, op: range, value_type: string}': ["[0].value_type (filter 'f')", /op 'range' needs/],
  '{name: f, path: a, op: range, value_type: boolean}': ["[0].value_type (filter 'f')", /op 'range' needs/],
  "{name: f, path: '$.tags[0:2].x', op: in, value_type: string}": [
    "[0].path (filter 'f')",
    /cannot read '\[0:2\]\.x' in path/,
  ],
  "{name: f, path: '', op: in, value_type: string}": ["[0].path (filter 'f')", /./],
  ...Object.fromEntries(
    ['status', 'limit', 'offset', 'publisher', 'strict.f'].map((name) => [
      `{name: ${name}, ${other}}`,
      [`[0].name (filter '${name}')`, /./] as Refusal,
    ]),
  ),
}

test('spec file: what is refused has the file, the place and the reason', (t) => {
  const ofFilters = Object.entries(FILTERS).map(
    ([text, [path, message]]) => [`${head}filters: [${text}]`, [`filters${path}`, message]] as const,
  )
  for (const [text, [path, message]] of [...Object.entries(FILES), ...ofFilters]) {
    const error = t.throws(() => parseFilterSpec(text, 'spec.yaml'), { instanceOf: ConfigError })
    const place = path === '' ? 'spec.yaml' : `spec.yaml: ${path}`
    t.true(
      error.problems.some((problem) => problem.path === place && message.test(problem.message)),
      error.message.slice(0, 500),
    )
  }
})

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

test('spec file: a version is an integer in any spelling of YAML 1.1', (t) => {
  const versionOf = (text: string) =>
    parseFilterSpec(`version: ${text}\nlisting_shape: {}\nfilters: []`, 'spec.yaml').version
  for (const text of ['2', '2.0', '"2"', '"2.0"', '+2', '0b10', '0x2', '02']) t.is(versionOf(text), 2, text)
  t.is(versionOf('on'), 1)
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
  t.is(spec.version, 5)
  t.deepEqual(spec.schema, { id: 'vms.compute', version: 1 })
  const names = `region gpu_model sla cpu_type host_disk_type motherboard gpu_interconnect virtualization_type static_ip
    datacenter_grade gpu_count_min vcpu_count_min ram_gb_min disk_gb_min host_cpu_cores_min host_ram_gb_min
    host_disk_gb_min total_gpu_count_min nic_speed_gbps_min internet_download_mbps_min internet_upload_mbps_min
    open_ports_count_min token token_exclude has_oracle`
  t.deepEqual([...spec.filters.keys()], names.split(/\s+/))
  t.like(spec.filters.get('ram_gb_min'), {
    path: '$.offer_resource.ram_gb',
    op: 'range',
    alias_kind: 'lower_bound',
  })
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

test('filter spec: API credits have three filters, and require a service name', (t) => {
  const spec = configured('filter-spec.apicredits.yaml')
  t.deepEqual([spec.version, ...spec.filters.keys()], [1, 'service_name', 'token', 'token_exclude'])
  const valid = compileListingShape(spec.listingShape)
  t.true(valid({ ...machine, offer_resource: { service_name: 'weather-api', description: null } }))
  t.false(valid({ ...machine, offer_resource: { service_name: '' } }))
})

const vectors = filterVectors()

test('vectors: every test vector is present', (t) => {
  t.deepEqual([vectors.length, new Set(vectors.map(({ id }) => id)).size], [553, 553])
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

test('YAML: a plain scalar is what version 1.1 makes of it, whatever version a directive names', (t) => {
  for (const [json, texts] of Object.entries(readings))
    for (const text of texts) {
      const reading = readYaml(`v: ${text}`)
      t.is('value' in reading ? canonicalJson(reading.value) : reading.problems, `{"v":${json}}`, text)
    }
  t.deepEqual(readYaml('%YAML 1.2\n---\nv: yes'), { value: { v: true } })
})
