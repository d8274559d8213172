import test from 'ava'
import fc from 'fast-check'
import { type Declaring, federate } from '../../../src/filter-spec/federated.ts'
import {
  type Filter,
  type FilterSpec,
  onSignedLine,
  renderFilterSpec,
} from '../../../src/filter-spec/filter.ts'
import { parseFilterSpec } from '../../../src/filter-spec/load.ts'
import { readUpstreamSpec } from '../../../src/filter-spec/upstream-spec.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'

const own: FilterSpec = parseFilterSpec(
  'version: 1\nlisting_shape: {type: object}\nfilters: [{name: region, path: $.offer_resource.region, op: in, value_type: string}]',
  'own.yaml',
)

const declaring = (name: string, filters: readonly Filter[], more: Partial<Declaring> = {}): Declaring => ({
  name,
  kind: 'registry',
  priority: 1,
  spec: readUpstreamSpec(Buffer.from(JSON.stringify(specBody('e', filters)))),
  ...more,
})

/** With members of filters as they are in a document. */
const declaringAs = (name: string, filters: readonly object[], kind: Declaring['kind'] = 'registry') => {
  const document = { ...specBody('e', []), filters: filters.map((one) => ({ ...filterOf('f'), ...one })) }
  return declaring(name, [], { kind, spec: readUpstreamSpec(Buffer.from(JSON.stringify(document))) })
}

const added = (upstreams: readonly Declaring[]): Record<string, unknown>[] =>
  JSON.parse(federate(own, upstreams).body).filters.slice(own.filters.size)

test('federated spec: without added filters it is our own spec to the byte, with its etag', (t) => {
  for (const upstreams of [
    [],
    [declaring('a', [filterOf('region')])],
    [declaring('a', [filterOf('region', { op: 'not_in' })])],
  ]) {
    const { etag, body, filters } = federate(own, upstreams)
    t.is(body, renderFilterSpec(own))
    t.is(etag, own.etag)
    t.is(filters.get('region'), own.filters.get('region'))
  }
})

test('federated spec: on the signed line each name of the query language is of one filter', (t) => {
  const spec =
    'version: 1\nlisting_shape: {}\nfilters: [{name: ram_min, query_name: ram, path: a, op: in, value_type: string}]'
  const signed = onSignedLine(parseFilterSpec(spec, 'own.yaml'))
  const upstreams = [
    declaringAs('a', [
      { name: 'disk_min', query_name: 'ram', query_aliases: ['disk_min', 'disk', 'disk', 'zone'] },
      { name: 'ram' },
      { name: 'sla', query_name: 'a b', query_aliases: ['uptime'] },
    ]),
    declaringAs('b', [
      { name: 'zone', query_aliases: ['ram_min', 'disk'] },
      { name: 'größe' },
      { name: 'speed', query_name: 'nic', query_aliases: [] },
    ]),
  ]
  const { body, etag, filters } = federate(signed, upstreams)
  const named = JSON.parse(body).filters.map((one: Record<string, unknown>) => [
    one.name,
    one.query_name,
    ...(one.query_aliases as string[]),
  ])
  t.deepEqual(named, [
    ['ram_min', 'ram'],
    ['disk_min', null, 'disk'],
    ['sla', null],
    ['speed', 'nic'],
    ['zone', null, 'ram_min'],
  ])
  t.deepEqual([...filters.keys()], ['ram_min', 'disk_min', 'größe', 'ram', 'sla', 'speed', 'zone'])
  t.not(etag, federate(own, upstreams).etag)
  t.false('query_name' in JSON.parse(federate(own, upstreams).body).filters[0])
})

test('federated spec: filters of upstreams follow ours, with their names, and change the etag', (t) => {
  const upstreams = [declaring('a', [filterOf('zone'), filterOf('city')]), declaring('b', [filterOf('zone')])]
  const { etag, body, filters } = federate(own, upstreams)
  t.deepEqual([...filters.keys()], ['region', 'city', 'zone'])
  t.deepEqual(
    added(upstreams).map(({ name, registries }) => [name, registries]),
    [
      ['city', ['a']],
      ['zone', ['a', 'b']],
    ],
  )
  t.not(etag, own.etag)
  t.is(JSON.parse(body).etag, etag)
  t.deepEqual(JSON.parse(body).filters[0].registries, undefined)
})

test('federated spec: the lowest priority number defines a filter, and names those that agree', (t) => {
  const upstreams = [
    declaring('first', [filterOf('zone', { op: 'not_in' })], { priority: 5 }),
    declaring('second', [filterOf('zone')], { priority: 2 }),
    declaring('third', [filterOf('zone', { indexed: true })], { priority: 9 }),
  ]
  const [zone, ...others] = added(upstreams)
  t.like(zone, { name: 'zone', op: 'in' })
  t.deepEqual(zone?.registries, ['second', 'third'])
  t.is(others.length, 0)
})

test('federated spec: only a gateway may name other Registries of a filter', (t) => {
  const zone = { name: 'zone', registries: ['curated', 'fr/x'] }
  const registries = (kind: Declaring['kind']) => added([declaringAs('eu', [zone], kind)])[0]?.registries
  t.deepEqual(registries('gateway'), ['eu/curated', 'eu/fr/x'])
  t.deepEqual(registries('registry'), ['eu'])
})

test('federated spec: a filter that no Registry declares any more disappears from two gateways', (t) => {
  const spec = (body: string) => readUpstreamSpec(Buffer.from(body))
  let here = federate(own, [declaring('source', [filterOf('zone')])]).body
  let there = federate(own, []).body
  const isKnown = (body: string): boolean => spec(body).filters.has('zone')
  t.true(isKnown(here))
  for (let round = 0; round < 4; round++) {
    there = federate(own, [declaring('here', [], { kind: 'gateway', spec: spec(here) })]).body
    here = federate(own, [declaring('there', [], { kind: 'gateway', spec: spec(there) })]).body
  }
  t.false(isKnown(here) || isKnown(there))
})

test('federated spec: equal vocabularies have equal etags, different ones differ', (t) => {
  const some = fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }).map((names) => names.sort())
  fc.assert(
    fc.property(some, some, some, some, (a1, b1, a2, b2) => {
      const declares = (name: string, names: string[]) =>
        declaring(
          name,
          names.map((one) => filterOf(one)),
        )
      const specOf = (a: string[], b: string[]) => federate(own, [declares('a', a), declares('b', b)])
      const [one, other] = [specOf(a1, b1), specOf(a2, b2)]
      const seen = ({ body }: { body: string }) => JSON.stringify(JSON.parse(body).filters)
      t.is(one.etag === other.etag, seen(one) === seen(other))
    }),
  )
})
