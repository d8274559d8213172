import test from 'ava'
import { nearMisses, urlProblem } from '../../src/cli/registries/select-registries.ts'

const misses = (url: string, keyUrl: string): boolean =>
  nearMisses([url], new Map([[keyUrl, 'key']])).length > 0

test('select: a key URL that differs in case, default port or slash is a near miss', (t) => {
  const url = 'https://registry.example/market'
  for (const near of [
    'HTTPS://registry.example/market',
    'https://Registry.Example/market',
    'https://registry.example:443/market',
    'https://registry.example/market/',
  ])
    t.true(misses(url, near), near)
  for (const far of [
    url,
    'http://registry.example/market',
    'https://registry.example:8443/market',
    'https://registry.example/Market',
    'https://registry.example',
    'not a url',
  ])
    t.false(misses(url, far), far)
})

test('select: a Registry with a key of its exact URL has no near miss', (t) => {
  const auth = new Map([
    ['http://a.example', 'one'],
    ['http://a.example/', 'two'],
  ])
  t.deepEqual(nearMisses(['http://a.example'], auth), [])
})

test('select: only http URLs without credentials, query or fragment are valid', (t) => {
  t.is(urlProblem('http://h:8080/registry/'), null)
  for (const bad of [
    'registry',
    'ftp://h',
    'http://u:p@h',
    'http://h?a=1',
    'http://h#x',
    'file:///etc/passwd',
  ])
    t.not(urlProblem(bad), null, bad)
})
