import test from 'ava'
import fc from 'fast-check'
import {
  addReporter,
  coversRegistry,
  joinMissing,
  MAX_MISSING,
  readMissing,
  UNNAMED_SOURCE,
} from '../../../../src/domain/source/missing-source.ts'
import type { JsonValue } from '../../../../src/json/value.ts'

const LOADED = source('well', 'loaded')
const LOOP = source('ours', 'skipped', 'loop')

test('missing sources: an answer without complete: false reports none', (t) => {
  for (const complete of [true, null, 0, 'false']) t.is(read([source('a', 'unavailable')], complete), null)
  t.is(readMissing({}), null)
})

test('missing sources: only known states and reasons are reported', (t) => {
  const missing = read([
    LOADED,
    source('b', 'stale', 'timeout'),
    source('c', 'unavailable', 'http_503'),
    source('eu/d', 'skipped', 'unsupported_filter'),
    source('e', 'not_yet_loaded'),
    source('f', 'on fire', 'rubbish'),
  ])
  t.deepEqual(missing, [
    { registry: 'c', state: 'unavailable', reason: 'http_503' },
    { registry: 'eu/d', state: 'skipped', reason: 'unsupported_filter' },
    { registry: 'e', state: 'not_yet_loaded' },
    { registry: 'f', state: 'unavailable' },
  ])
})

test('missing sources: a source without a readable name is reported as unnamed', (t) => {
  for (const sources of [null, 'x', [], [LOADED], [7], [{}], [source('../up', 'unavailable')]] as JsonValue[])
    t.deepEqual(read(sources), [UNNAMED_SOURCE], JSON.stringify(sources))
  t.deepEqual(read([source('a', 'unavailable'), source('\u202e', 'unavailable')]), [
    { registry: 'a', state: 'unavailable' },
    UNNAMED_SOURCE,
  ])
  t.deepEqual(read([source('x/*', 'unavailable')]), [{ registry: 'x/*', state: 'unavailable' }])
})

test('missing sources: a source skipped as a loop is not missing, and hides no other', (t) => {
  t.is(read([LOADED, LOOP]), null)
  t.deepEqual(read([LOOP, source('a', 'unavailable')]), [{ registry: 'a', state: 'unavailable' }])
  t.deepEqual(read([LOOP, source('A', 'unavailable')]), [UNNAMED_SOURCE])
  t.is(read([source('ours', 'unavailable', 'loop')])?.length, 1)
  t.deepEqual(readMissing({ complete: false, sources: [LOOP] }, { ignoreLoops: false }), [
    { registry: 'ours', state: 'skipped', reason: 'loop' },
  ])
})

test('missing sources: any report is bounded, in known form, and never empty', (t) => {
  const word = fc.oneof(fc.string(), fc.constantFrom('loaded', 'a', 'eu/a', 'unavailable', 'timeout', '*'))
  const entry = fc.oneof(fc.jsonValue(), fc.record({ registry: word, state: word, reason: word }))
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 300, size: 'max' }), (sources) => {
      const missing = readMissing({ complete: false, sources: sources as JsonValue }, { ignoreLoops: false })
      t.true(missing !== null && missing.length > 0 && missing.length <= MAX_MISSING)
      for (const { registry, state, reason = 'timeout' } of missing ?? []) {
        t.regex(registry, /^([a-z0-9-]{1,64}\/){0,3}([a-z0-9-]{1,64}|\*)$/)
        t.regex(`${state} ${reason}`, /^(unavailable|skipped|not_yet_loaded) [a-z_]+\d{0,3}$/)
      }
    }),
  )
})

test('missing sources: a report that passed this gateway is dropped, and `via` is bounded', (t) => {
  const entry = { registry: 'a', state: 'unavailable', via: ['eu', 'us', 'bad id', 7] }
  const readAs = (ownId?: string) =>
    readMissing({ complete: false, sources: [entry] }, { ignoreLoops: true, ownId })
  t.is(readAs('us'), null)
  t.deepEqual(readAs('asia'), [{ registry: 'a', state: 'unavailable', via: ['eu', 'us'] }])
  t.deepEqual(readAs(), readAs('asia'))
  const first = readAs('asia')![0]!
  t.deepEqual(addReporter(first, 'asia').via, ['eu', 'us', 'asia'])
  t.is(addReporter(first, undefined), first)
  const long = Array.from({ length: 40 }, (_, n) => `g${n}`).reduce(addReporter, first)
  t.deepEqual([long.via?.length, long.via?.at(-1)], [16, 'g39'])
})

test('missing sources: entries beyond the limit are replaced by one unnamed entry', (t) => {
  const many = (prefix: string) =>
    read(Array.from({ length: 250 }, (_, n) => source(`${prefix}-${n}`, 'unavailable')))!
  t.is(many('r').length, MAX_MISSING)
  t.is(many('r').at(-1), UNNAMED_SOURCE)
  t.is(joinMissing(many('r'), many('s'))?.length, MAX_MISSING)
  t.is(joinMissing(many('r'), many('s'))?.at(-1), UNNAMED_SOURCE)
  t.deepEqual(joinMissing(many('r'), many('r')), many('r'), 'without repeats')
})

test('missing sources: a missing Registry covers the Registries behind it', (t) => {
  for (const [missing, name, expected] of [
    ['eu', 'eu/a', true],
    ['eu', 'eu', true],
    ['eu', 'europe', false],
    ['eu/a', 'eu', false],
    ['eu/*', 'eu/a', true],
    ['eu/*', 'us/a', false],
    ['*', 'anything', true],
  ] as const)
    t.is(coversRegistry({ registry: missing }, name), expected, `${missing} ${name}`)
})

function source(registry: string, state: string, reason?: string): JsonValue {
  return { registry, state, ...(reason === undefined ? {} : { reason }) }
}

function read(sources: JsonValue, complete: JsonValue = false) {
  return readMissing({ complete, sources })
}
