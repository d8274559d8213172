import type { IncomingMessage } from 'node:http'
import test from 'ava'
import { createClientAddress } from '../../src/http/middleware/rate-limit.ts'

/** What the function looks at of a request. */
const request = (remoteAddress: string, ...forwarded: string[]): IncomingMessage =>
  ({
    socket: { remoteAddress },
    headers: forwarded.length === 0 ? {} : { 'x-forwarded-for': forwarded.join(', ') },
  }) as never

const CASES: [name: string, trusted: string[], peer: string, forwarded: string[], address: string][] = [
  ['nobody is believed by default', [], '10.0.0.1', ['203.0.113.9'], '10.0.0.1'],
  ['a stranger is not believed', ['10.0.0.0/8'], '203.0.113.1', ['203.0.113.9'], '203.0.113.1'],
  ['a trusted proxy is', ['10.0.0.0/8'], '10.0.0.1', ['203.0.113.9'], '203.0.113.9'],
  [
    'what the caller wrote before it is not',
    ['10.0.0.0/8'],
    '10.0.0.1',
    ['1.1.1.1, 203.0.113.9'],
    '203.0.113.9',
  ],
  [
    'a chain of trusted proxies is walked',
    ['10.0.0.0/8'],
    '10.0.0.1',
    ['203.0.113.9, 10.0.0.2'],
    '203.0.113.9',
  ],
  ['several header lines are one', ['10.0.0.0/8'], '10.0.0.1', ['1.1.1.1', '203.0.113.9'], '203.0.113.9'],
  ['junk ends the walk', ['10.0.0.0/8'], '10.0.0.1', ['203.0.113.9, junk'], '10.0.0.1'],
  ['only proxies', ['10.0.0.0/8'], '10.0.0.1', [], '10.0.0.1'],
  [
    'an IPv4 address on an IPv6 socket is itself',
    ['10.0.0.0/8'],
    '::ffff:10.0.0.1',
    ['203.0.113.9'],
    '203.0.113.9',
  ],
  ['an IPv6 customer has a whole /64', [], '2001:db8:1:2:aaaa::1', [], '2001:db8:1:2::/64'],
  ['a short IPv6 address is filled up', [], '2001:db8::5', [], '2001:db8:0:0::/64'],
  ['IPv6 proxies are trusted too', ['fd00::/8'], 'fd00::1', ['2001:db8::5'], '2001:db8:0:0::/64'],
]

for (const [name, trusted, peer, forwarded, address] of CASES) {
  test(name, (t) => {
    t.is(createClientAddress(trusted)(request(peer, ...forwarded)), address)
  })
}
