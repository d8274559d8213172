import { readFileSync } from 'node:fs'
import test from 'ava'
import { bodyHash } from '../../../src/signing/canonical-json.ts'
import { type Exchange, faultOf, type Role, signRequest } from '../../../src/signing/exchange.ts'
import { queryBody } from '../../../src/signing/operations.ts'
import type { Principal } from '../../../src/signing/principal.ts'
import { isProof, openSigner } from '../../../src/signing/proof.ts'
import { readSecret } from '../../../src/signing/secret.ts'
import { ALICE_KEY } from '../../helpers/seller.ts'

type Vector = {
  signer: Principal
  role: Role
  method: string
  operation: string
  resource: string
  request_id: string
  timestamp: number
  status?: number
  body?: unknown
  canonical_body: string
  body_hash: string
  message_hex: string
  signature: string
}

/** Made by the public implementation. */
const { rotation: _, ...vectors }: Record<string, Vector> = JSON.parse(
  readFileSync(new URL('vectors.json', import.meta.url), 'utf8'),
)

/** Public test keys: a wallet of Anvil, and a seed that counts from 0. */
const SELLERS = [ALICE_KEY, Buffer.from(Array.from({ length: 32 }, (_, n) => n)).toString('base64url')].map(
  (text) => openSigner(readSecret(text)!)!,
)

for (const [name, vector] of Object.entries(vectors)) {
  const { signer: principal, timestamp, method, operation, resource, request_id: requestId } = vector
  const exchange: Exchange = { method, operation, resource, requestId }
  const body = Buffer.from(vector.body ? JSON.stringify(vector.body) : vector.canonical_body)

  test(`vector ${name}: hash, message and signature are those of the public implementation`, (t) => {
    t.is(bodyHash(body), vector.body_hash)
    const message = Buffer.from(vector.message_hex, 'hex')
    t.true(isProof(principal, message, vector.signature))
    if (vector.status === undefined) {
      const signer = SELLERS.find((one) => one.principal.scheme === principal.scheme)!
      const headers = signRequest(signer, { ...exchange, role: vector.role, timestamp, body })
      t.deepEqual(signer.principal, principal)
      t.is(headers['x-market-signature'], vector.signature)
      return
    }
    const answer = { status: vector.status, headers: headersOf(vector), body }
    const around = { exchange, keys: [principal], now: timestamp + 300 }
    t.is(faultOf(answer, around), null)
  })
}

test('vectors: the query body of a request has its pairs in order, and the etag of If-Match without quotes', (t) => {
  t.is(
    queryBody('status=open&limit=50&offset=0&gpu_model=H200', undefined),
    vectors['list/ed25519']!.canonical_body,
  )
  t.is(queryBody('limit=1', 'W/"deadbeef"'), vectors['list-ifmatch/ed25519']!.canonical_body)
  t.is(
    queryBody('b=%FF&a=1+2&a=%EF%BD%A1&a=%F0%9F%98%80', undefined),
    '{"query":[["a","1 2"],["a","｡"],["a","😀"],["b","\ufffd"]]}',
  )
})

function headersOf({ signer, request_id, timestamp, signature }: Vector): Record<string, string> {
  return {
    'x-market-signature-version': 'arkhai.market-response-signature.v2',
    'x-market-identity-scheme': signer.scheme,
    'x-market-identity-identifier': signer.identifier,
    'x-market-role': 'registry',
    'x-market-request-id': request_id,
    'x-market-timestamp': String(timestamp),
    'x-market-signature': signature,
  }
}
