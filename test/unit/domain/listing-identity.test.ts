import test from 'ava'
import { SeenListings } from '../../../src/domain/listing-identity.ts'
import { collectGarbage } from '../../helpers/collect-garbage.ts'

test('seen listings: a copy is repeated by publisher, or by storefront where no publisher is known', (t) => {
  const seen = new SeenListings()
  const add = (publisher: string | null, storefrontUrl: string | null): boolean =>
    seen.add('l', { publisher, storefrontUrl })
  t.true(add('0xa', 'http://a.example/'))
  t.false(add('0xa', 'http://moved.example/'))
  t.true(add(null, 'http://moved.example/'))
  t.false(add(null, 'http://moved.example/'))
  t.true(add('0xb', 'http://a.example/'))
  t.true(add(null, null))
  t.true(add(null, null))
  t.true(seen.add('m', { publisher: '0xa', storefrontUrl: 'http://a.example/' }))
})

test('seen listings: one of very many costs less than a hundred bytes', (t) => {
  const ids = Array.from({ length: 50_000 }, (_, n) => `listing-${n}`)
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const seen = new SeenListings()
  for (const [n, id] of ids.entries())
    seen.add(id, { publisher: `0x${n % 50}`, storefrontUrl: `http://${n % 50}.example/` })
  collectGarbage()
  const bytes = (process.memoryUsage().heapUsed - before) / ids.length
  t.true(bytes < 100, `${bytes} bytes each`)
  t.false(seen.add(ids[0]!, { publisher: '0x0', storefrontUrl: null }))
})
