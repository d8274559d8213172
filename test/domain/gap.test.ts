import test from 'ava'
import fc from 'fast-check'
import {
  covers,
  gapsInProblem,
  heardFrom,
  joinGaps,
  MAX_GAPS,
  readGaps,
  UNNAMED_GAP,
} from '../../src/domain/gap.ts'
import type { JsonValue } from '../../src/domain/json.ts'

const source = (registry: string, state: string, reason?: string): JsonValue => ({
  registry,
  state,
  ...(reason === undefined ? {} : { reason }),
})
const LOADED = source('well', 'loaded')
const LOOP = source('ours', 'skipped', 'loop')
const read = (sources: JsonValue, complete: JsonValue = false) => readGaps({ complete, sources })

test('a gateway that does not say that it is not complete misses nothing', (t) => {
  for (const complete of [true, null, 0, 'false']) t.is(read([source('a', 'unavailable')], complete), null)
  t.is(readGaps({}), null)
})

test('what has not answered is named in known words', (t) => {
  const gaps = read([
    LOADED,
    source('b', 'stale', 'timeout'),
    source('c', 'unavailable', 'http_503'),
    source('eu/d', 'skipped', 'unsupported_filter'),
    source('e', 'not_yet_loaded'),
    source('f', 'on fire', 'rubbish'),
  ])
  t.deepEqual(gaps, [
    { registry: 'c', state: 'unavailable', reason: 'http_503' },
    { registry: 'eu/d', state: 'skipped', reason: 'unsupported_filter' },
    { registry: 'e', state: 'not_yet_loaded' },
    { registry: 'f', state: 'unavailable' },
  ])
})

test('that something is missing is told, whether or not it is said what', (t) => {
  for (const sources of [null, 'x', [], [LOADED], [7], [{}], [source('../up', 'unavailable')]] as JsonValue[])
    t.deepEqual(read(sources), [UNNAMED_GAP], JSON.stringify(sources))
  t.deepEqual(read([source('a', 'unavailable'), source('\u202e', 'unavailable')]), [
    { registry: 'a', state: 'unavailable' },
    UNNAMED_GAP,
  ])
  t.deepEqual(read([source('x/*', 'unavailable')]), [{ registry: 'x/*', state: 'unavailable' }])
})

test('what was left out as a loop is not missing, and hides nothing that is', (t) => {
  t.is(read([LOADED, LOOP]), null)
  t.deepEqual(read([LOOP, source('a', 'unavailable')]), [{ registry: 'a', state: 'unavailable' }])
  t.deepEqual(read([LOOP, source('A', 'unavailable')]), [UNNAMED_GAP])
  t.deepEqual(read([source('ours', 'unavailable', 'loop')])?.length, 1)
  t.deepEqual(readGaps({ complete: false, sources: [LOOP] }, { isLoopNone: false }), [
    { registry: 'ours', state: 'skipped', reason: 'loop' },
  ])
})

test('whatever a gateway says, what is repeated of it is short, of known form, and never nothing', (t) => {
  const word = fc.oneof(fc.string(), fc.constantFrom('loaded', 'a', 'eu/a', 'unavailable', 'timeout', '*'))
  const entry = fc.oneof(fc.jsonValue(), fc.record({ registry: word, state: word, reason: word }))
  const many = fc.array(entry, { maxLength: 300, size: 'max' })
  fc.assert(
    fc.property(many, (sources) => {
      const gaps = readGaps({ complete: false, sources: sources as JsonValue }, { isLoopNone: false })
      t.true(gaps !== null && gaps.length > 0 && gaps.length <= MAX_GAPS)
      for (const { registry, state, reason = 'timeout' } of gaps ?? []) {
        t.regex(registry, /^([a-z0-9-]{1,64}\/){0,3}([a-z0-9-]{1,64}|\*)$/)
        t.regex(`${state} ${reason}`, /^(unavailable|skipped|not_yet_loaded) [a-z_]+\d{0,3}$/)
      }
    }),
  )
})

test('what others remember to have heard by way of us, we say ourselves', (t) => {
  const heard = { registry: 'a', state: 'unavailable', via: ['eu', 'us', 'bad id', 7] } as const
  const readBy = (ownId?: string) =>
    readGaps({ complete: false, sources: [{ ...heard, via: [...heard.via] }] }, { isLoopNone: true, ownId })
  t.is(readBy('us'), null)
  t.deepEqual(readBy('asia'), [{ registry: 'a', state: 'unavailable', via: ['eu', 'us'] }])
  t.deepEqual(readBy(), readBy('asia'))
  const gap = readBy('asia')![0]!
  t.deepEqual(heardFrom(gap, 'asia').via, ['eu', 'us', 'asia'])
  t.is(heardFrom(gap, undefined), gap)
  const long = Array.from({ length: 40 }, (_, n) => `g${n}`).reduce(heardFrom, gap)
  t.deepEqual([long.via?.length, long.via?.at(-1)], [16, 'g39'])
})

test('more than may be named ends with what is not named', (t) => {
  const sources = Array.from({ length: 250 }, (_, n) => source(`r-${n}`, 'unavailable'))
  const gaps = read(sources)!
  t.is(gaps.length, MAX_GAPS)
  t.is(gaps.at(-1), UNNAMED_GAP)
  const other = read(sources.map((_, n) => source(`s-${n}`, 'unavailable')))!
  t.is(joinGaps(gaps, other)?.length, MAX_GAPS)
  t.is(joinGaps(gaps, other)?.at(-1), UNNAMED_GAP)
})

test('parts of an answer miss together what one of them does, each once', (t) => {
  const [a, b] = [read([source('a', 'unavailable')])!, read([source('b', 'skipped')])!]
  t.is(joinGaps(undefined, undefined), undefined)
  t.is(joinGaps(a, undefined), a)
  t.is(joinGaps(undefined, b), b)
  t.deepEqual(joinGaps(joinGaps(a, b), a), [...a, ...b])
})

test('a gap covers its Registry and all behind it', (t) => {
  t.true(covers({ registry: 'eu' }, 'eu/a'))
  t.true(covers({ registry: 'eu' }, 'eu'))
  t.false(covers({ registry: 'eu' }, 'europe'))
  t.false(covers({ registry: 'eu/a' }, 'eu'))
  t.true(covers({ registry: 'eu/*' }, 'eu/a'))
  t.false(covers({ registry: 'eu/*' }, 'us/a'))
  t.true(covers(UNNAMED_GAP, 'anything'))
})

test('a problem that names nothing, or is none, names nothing', (t) => {
  for (const body of [
    '',
    'oops',
    '[]',
    '{}',
    '{"sources":[]}',
    '{"sources":[{"registry":"a","state":"loaded"}]}',
  ])
    t.deepEqual(gapsInProblem(Buffer.from(body)), [], body)
})
