import test from 'ava'
import { cacheDirectives } from '../../src/upstream/cache-directives.ts'

const said = (cacheControl: string | string[], age?: string) =>
  cacheDirectives({ 'cache-control': cacheControl, age })

const SILENT = { mayStore: true, maxAgeSeconds: null, mayServeStale: true, ageSeconds: 0 }

test('who says nothing allows everything', (t) => {
  t.deepEqual(cacheDirectives({}), SILENT)
  t.deepEqual(said(''), SILENT)
  t.deepEqual(said('public, immutable, made-up="no-store"'), SILENT)
})

test('what is not for a shared cache is not kept, however it is written', (t) => {
  for (const text of [
    'no-store',
    'NO-STORE',
    'max-age=60,private',
    'private="set-cookie"',
    'public , no-cache',
  ])
    t.false(said(text).mayStore, text)
  t.false(said(['max-age=60', 'no-store']).mayStore)
})

test('s-maxage is for us and comes before max-age; both in seconds, quoted or not', (t) => {
  t.is(said('max-age=60').maxAgeSeconds, 60)
  t.is(said('Max-Age="60"').maxAgeSeconds, 60)
  t.is(said('max-age=60, s-maxage=5').maxAgeSeconds, 5)
  t.is(said('max-age = 7').maxAgeSeconds, 7)
})

test('what is no number of seconds counts as none left, what is beyond all numbers as very many', (t) => {
  for (const text of ['max-age', 'max-age=', 'max-age=-1', 'max-age=1.5', 'max-age=1e3', 'max-age=soon'])
    t.is(said(text).maxAgeSeconds, 0, text)
  t.is(said(`max-age=${'9'.repeat(400)}`).maxAgeSeconds, 2 ** 31)
})

test('must-revalidate, proxy-revalidate and s-maxage forbid to show it later', (t) => {
  t.false(said('must-revalidate').mayServeStale)
  t.false(said('proxy-revalidate').mayServeStale)
  t.false(said('s-maxage=60').mayServeStale)
  t.true(said('max-age=60').mayServeStale)
})

test('Age is what it says, and 0 where it says nothing', (t) => {
  t.is(said('', '17').ageSeconds, 17)
  t.is(said('', 'old').ageSeconds, 0)
})
