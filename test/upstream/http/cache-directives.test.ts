import test from 'ava'
import { NO_DIRECTIVES } from '../../../src/domain/source/freshness.ts'
import { cacheDirectives } from '../../../src/upstream/http/get.ts'

const read = (cacheControl: string | string[], age?: string, isOwn = false) =>
  cacheDirectives({ 'cache-control': cacheControl, age }, isOwn)

test('an answer without directives may be stored and served stale', (t) => {
  t.deepEqual(cacheDirectives({}, false), NO_DIRECTIVES)
  t.deepEqual(read(''), NO_DIRECTIVES)
  t.deepEqual(read('public, immutable, made-up="no-store"'), NO_DIRECTIVES)
})

test('an answer that is not for a shared cache is not stored, in any spelling', (t) => {
  for (const text of [
    'no-store',
    'NO-STORE',
    'max-age=60,private',
    'private="set-cookie"',
    'public , no-cache',
  ])
    t.false(read(text).mayStore, text)
  t.false(read(['max-age=60', 'no-store']).mayStore)
})

test('s-maxage precedes max-age, quoted or not', (t) => {
  t.is(read('max-age=60').maxAgeSeconds, 60)
  t.is(read('Max-Age="60"').maxAgeSeconds, 60)
  t.is(read('max-age=60, s-maxage=5').maxAgeSeconds, 5)
  t.is(read('max-age = 7').maxAgeSeconds, 7)
})

test('a malformed number of seconds counts as 0, a huge one as 2^31', (t) => {
  for (const text of ['max-age', 'max-age=', 'max-age=-1', 'max-age=1.5', 'max-age=1e3', 'max-age=soon'])
    t.is(read(text).maxAgeSeconds, 0, text)
  t.is(read(`max-age=${'9'.repeat(400)}`).maxAgeSeconds, 2 ** 31)
})

test('must-revalidate, proxy-revalidate and s-maxage forbid serving it stale', (t) => {
  t.false(read('must-revalidate').mayServeStale)
  t.false(read('proxy-revalidate').mayServeStale)
  t.false(read('s-maxage=60').mayServeStale)
  t.true(read('max-age=60').mayServeStale)
})

test('Age counts, and a malformed one is 0', (t) => {
  t.is(read('', '17').ageSeconds, 17)
  t.is(read('', 'old').ageSeconds, 0)
})

test('a private answer may be stored for the credential that it was given to', (t) => {
  t.true(read('private, max-age=60', undefined, true).mayStore)
  t.false(read('private, no-store', undefined, true).mayStore)
})
