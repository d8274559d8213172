import type { IncomingMessage } from 'node:http'
import test from 'ava'
import { createClientAddress } from '../../../src/http/middleware/rate-limit.ts'

/** What the function looks at of a request. */
const request = (remoteAddress: string, forwarded: string): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: forwarded === '' ? {} : { 'x-forwarded-for': forwarded } }) as never

const TEN = ['10.0.0.0/8']
const SEEN = '203.0.113.9'

const CASES: Readonly<Record<string, [trusted: string[], peer: string, forwarded: string, address: string]>> =
  {
    'without trusted proxies the header is ignored': [[], '10.0.0.1', SEEN, '10.0.0.1'],
    'the header of an untrusted peer is ignored': [TEN, '203.0.113.1', SEEN, '203.0.113.1'],
    'the header of a trusted proxy is used': [TEN, '10.0.0.1', SEEN, SEEN],
    'what the client sent in the header is ignored': [TEN, '10.0.0.1', `1.1.1.1, ${SEEN}`, SEEN],
    'a chain of trusted proxies is walked': [TEN, '10.0.0.1', `${SEEN}, 10.0.0.2`, SEEN],
    'an invalid address ends the walk': [TEN, '10.0.0.1', `${SEEN}, junk`, '10.0.0.1'],
    'a trusted proxy without the header counts itself': [TEN, '10.0.0.1', '', '10.0.0.1'],
    'an IPv4 address on an IPv6 socket is itself': [TEN, '::ffff:10.0.0.1', SEEN, SEEN],
    'IPv6 counts by /64': [[], '2001:db8:1:2:aaaa::1', '', '2001:db8:1:2::/64'],
    'a short IPv6 address is expanded': [[], '2001:db8::5', '', '2001:db8:0:0::/64'],
    'every IPv4 proxy can be trusted': [['0.0.0.0/0'], '10.0.0.1', `${SEEN}, 198.51.100.1`, SEEN],
    'every IPv6 proxy can be trusted': [['::/0'], 'fd00::1', '2001:db8::5', '2001:db8:0:0::/64'],
    'IPv6 proxies can be trusted': [['fd00::/8'], 'fd00::1', '2001:db8::5', '2001:db8:0:0::/64'],
  }

test('client address: it is the one behind trusted proxies, and IPv6 counts by /64', (t) => {
  for (const [name, [trusted, peer, forwarded, address]] of Object.entries(CASES))
    t.is(createClientAddress(trusted)(request(peer, forwarded)), address, name)
})
