import test from 'ava'
import fc from 'fast-check'
import { bodyHash } from '../../../src/signing/canonical-json.ts'
import {
  ANSWER_VERSION,
  type Exchange,
  faultOf,
  readRequest,
  signRequest,
} from '../../../src/signing/exchange.ts'
import { frame } from '../../../src/signing/frame.ts'
import { readPrincipal, SCHEMES, type Scheme } from '../../../src/signing/principal.ts'
import { isProof, openSigner, type Signer } from '../../../src/signing/proof.ts'
import { readSecret } from '../../../src/signing/secret.ts'

const EXCHANGE: Exchange = {
  method: 'GET',
  operation: 'listing.list',
  resource: 'listings',
  requestId: 'r-1',
}
const NOW = 1_795_488_000
const BODY = '{"items":[],"total_after_filter":0}'

const signerOf = (scheme: Scheme, n: number): Signer => openSigner({ scheme, key: Buffer.alloc(32, n) })!
const SIGNERS = SCHEMES.map((scheme) => signerOf(scheme, 7))

/** An answer as a Registry signs it. */
function answerOf({ principal, sign }: Signer) {
  const { scheme, identifier } = principal
  const { method, operation, resource, requestId } = EXCHANGE
  const head = [ANSWER_VERSION, 'registry', scheme, identifier, method, operation, resource, requestId]
  const body = Buffer.from(BODY)
  const headers: Record<string, string> = {
    'x-market-signature-version': ANSWER_VERSION,
    'x-market-identity-scheme': scheme,
    'x-market-identity-identifier': identifier,
    'x-market-role': 'registry',
    'x-market-request-id': requestId,
    'x-market-timestamp': String(NOW),
    'x-market-signature': sign(frame([...head, String(NOW), '200', bodyHash(body)])),
  }
  return { status: 200, headers, body }
}

for (const signer of SIGNERS) {
  const { scheme } = signer.principal
  const around = { exchange: EXCHANGE, keys: [signer.principal], now: NOW }
  const answer = answerOf(signer)

  test(`answer of ${scheme}: any other field, header, status or byte of the body is refused`, (t) => {
    t.is(faultOf(answer, around), null)
    t.is(faultOf({ ...answer, status: 404 }, around), 'invalid_proof')
    for (const name of ['method', 'operation', 'resource'] as const)
      t.is(faultOf(answer, { ...around, exchange: { ...EXCHANGE, [name]: 'other' } }), 'invalid_proof')
    t.is(faultOf(answer, { ...around, exchange: { ...EXCHANGE, requestId: 'r-2' } }), 'context_mismatch')
    for (const name of Object.keys(answer.headers)) {
      const { [name]: value = '', ...others } = answer.headers
      t.truthy(faultOf({ ...answer, headers: others }, around), name)
      for (let at = 0; at < value.length; at++) {
        const other = `${value.slice(0, at)}${value[at] === '0' ? '1' : '0'}${value.slice(at + 1)}`
        t.truthy(faultOf({ ...answer, headers: { ...others, [name]: other } }, around), `${name} ${other}`)
      }
    }
    for (let at = 0; at < BODY.length; at++) {
      const body = Buffer.from(BODY)
      body[at]! ^= 1
      t.truthy(faultOf({ ...answer, body }, around), body.toString())
    }
  })

  test(`answer of ${scheme}: another key, a clock that is off, and a body without canonical form are named`, (t) => {
    const stranger = signerOf(scheme, 8).principal
    t.is(faultOf(answer, { ...around, keys: [stranger] }), 'wrong_principal')
    t.is(faultOf(answer, { ...around, keys: [stranger, signer.principal] }), null)
    for (const [now, fault] of [
      [NOW + 300, null],
      [NOW - 300, null],
      [NOW + 301, 'timestamp_skew'],
      [NOW - 301, 'timestamp_skew'],
    ] as const)
      t.is(faultOf(answer, { ...around, now }), fault)
    t.is(faultOf({ ...answer, body: Buffer.from('<html>') }, around), 'not_canonical')
  })
}

test('request: a timestamp may be 300 s from the clock, and not 301 s', (t) => {
  const [signer] = SIGNERS
  const body = Buffer.from(BODY)
  const headers = signRequest(signer!, { ...EXCHANGE, role: 'buyer', timestamp: NOW, body })
  for (const [off, fault] of [
    [-301, 'timestamp_skew'],
    [-300, undefined],
    [300, undefined],
    [301, 'timestamp_skew'],
  ] as const) {
    const read = readRequest(headers, { ...EXCHANGE, content: bodyHash(body) }, NOW + off)
    t.is('fault' in read ? read.fault : undefined, fault, `${off} s`)
  }
})

test('frame: two lists of fields never have the same message', (t) => {
  const fields = fc.array(fc.string({ unit: 'grapheme', maxLength: 4 }), { maxLength: 4 })
  fc.assert(
    fc.property(fields, fields, (one, other) => {
      t.is(
        frame(one).equals(frame(other)),
        one.join('\n') === other.join('\n') && one.length === other.length,
      )
    }),
  )
})

test('principal: a wallet in any case; a public key only as encoders write it', (t) => {
  const [wallet, key] = SIGNERS.map(({ principal }) => principal)
  t.deepEqual(readPrincipal('eip191', `0x${wallet!.identifier.slice(2).toUpperCase()}`), wallet!)
  t.deepEqual(readPrincipal('ed25519', key!.identifier), key!)
  const last = key!.identifier.at(-1)!
  const spelled = `${key!.identifier.slice(0, -1)}${String.fromCharCode(last.charCodeAt(0) + 1)}`
  for (const identifier of [`${key!.identifier}=`, spelled, key!.identifier.slice(1), 7])
    t.is(readPrincipal('ed25519', identifier), null, String(identifier))
  t.is(readPrincipal('eip191', wallet!.identifier.slice(2)), null)
  t.is(readPrincipal('rsa', wallet!.identifier), null)
})

test('secret: a seed in base64url, or a private key in hex; a number that is no key opens no signer', (t) => {
  const seed = Buffer.alloc(32, 7)
  t.deepEqual(readSecret(` ${seed.toString('base64url')}\n`), { scheme: 'ed25519', key: seed })
  t.deepEqual(readSecret(`0x${seed.toString('hex').toUpperCase()}`), { scheme: 'eip191', key: seed })
  for (const text of ['', 'seed', seed.toString('base64'), seed.toString('hex').slice(1)])
    t.is(readSecret(text), null, text)
  for (const n of [0, 255]) t.is(openSigner({ scheme: 'eip191', key: Buffer.alloc(32, n) }), null)
  const { principal, sign } = SIGNERS[1]!
  t.false(isProof(principal, Buffer.from('a'), `${sign(Buffer.from('a'))}=`))
})
