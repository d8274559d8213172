import type { IncomingMessage } from 'node:http'
import test from 'ava'
import { createClientAddress } from '../../../src/http/middleware/rate-limit.ts'

/** What the function looks at of a request. */
const request = (remoteAddress: string, ...forwarded: string[]): IncomingMessage =>
  ({
    socket: { remoteAddress },
    headers: forwarded.length === 0 ? {} : { 'x-forwarded-for': forwarded.join(', ') },
  }) as never

const CASES: [name: string, trusted: string[], peer: string, forwarded: string[], address: string][] = [
  ['without trusted proxies, X-Forwarded-For is ignored', [], '10.0.0.1', ['203.0.113.9'], '10.0.0.1'],
  [
    'X-Forwarded-For of an untrusted peer is ignored',
    ['10.0.0.0/8'],
    '203.0.113.1',
    ['203.0.113.9'],
    '203.0.113.1',
  ],
  ['X-Forwarded-For of a trusted proxy is used', ['10.0.0.0/8'], '10.0.0.1', ['203.0.113.9'], '203.0.113.9'],
  [
    'what the client sent in X-Forwarded-For is ignored',
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
  ['an invalid address ends the walk', ['10.0.0.0/8'], '10.0.0.1', ['203.0.113.9, junk'], '10.0.0.1'],
  ['a trusted proxy without X-Forwarded-For counts itself', ['10.0.0.0/8'], '10.0.0.1', [], '10.0.0.1'],
  [
    'an IPv4 address on an IPv6 socket is itself',
    ['10.0.0.0/8'],
    '::ffff:10.0.0.1',
    ['203.0.113.9'],
    '203.0.113.9',
  ],
  ['IPv6 counts by /64', [], '2001:db8:1:2:aaaa::1', [], '2001:db8:1:2::/64'],
  ['a short IPv6 address is expanded', [], '2001:db8::5', [], '2001:db8:0:0::/64'],
  [
    'every IPv4 proxy can be trusted',
    ['0.0.0.0/0'],
    '10.0.0.1',
    ['203.0.113.9, 198.51.100.1'],
    '203.0.113.9',
  ],
  ['every IPv6 proxy can be trusted', ['::/0'], 'fd00::1', ['2001:db8::5'], '2001:db8:0:0::/64'],
  ['IPv6 proxies can be trusted', ['fd00::/8'], 'fd00::1', ['2001:db8::5'], '2001:db8:0:0::/64'],
]

for (const [name, trusted, peer, forwarded, address] of CASES) {
  test(`client address: ${name}`, (t) => {
    t.is(createClientAddress(trusted)(request(peer, ...forwarded)), address)
  })
}
