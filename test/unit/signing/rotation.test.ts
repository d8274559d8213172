import { readFileSync } from 'node:fs'
import test from 'ava'
import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../../src/json/value.ts'
import { SCHEMES } from '../../../src/signing/principal.ts'
import { openSigner } from '../../../src/signing/proof.ts'
import { isProvenRotation, readRotation, rotationMessage } from '../../../src/signing/rotation.ts'
import { runs } from '../../helpers/runs.ts'

/** Made by the public implementation. */
const { rotation: vector }: { rotation: { body: Body; message_hex: string } } = JSON.parse(
  readFileSync(new URL('vectors.json', import.meta.url), 'utf8'),
)
type Body = { intent: JsonObject; current_proof: JsonObject; replacement_proof: JsonObject }
const EXPIRES_AT = 1_767_225_900

const isProven = (body: JsonValue, now = EXPIRES_AT): boolean => {
  const request = readRotation(body)
  return request !== null && isProvenRotation(request, now)
}

test('rotation: message and proofs are those of the public implementation, until it expires', (t) => {
  const request = readRotation(vector.body)!
  t.is(rotationMessage(request.intent).toString('hex'), vector.message_hex)
  t.true(isProven(vector.body))
  t.false(isProven(vector.body, EXPIRES_AT + 1))
})

test('rotation: another member, a missing one, another type and the same key twice have no form', (t) => {
  const { intent, current_proof, replacement_proof } = vector.body
  const cases: JsonValue[] = [
    null,
    [],
    { ...vector.body, more: 1 },
    { intent, current_proof },
    { ...vector.body, current_proof: replacement_proof },
    { ...vector.body, replacement_proof: { ...replacement_proof, value: 'x' } },
    ...Object.keys(intent)
      .filter((name) => name !== 'protocol')
      .map((name) => ({ ...vector.body, intent: { ...intent, [name]: null } })),
    ...[
      { protocol: 'v2' },
      { more: 1 },
      { replacement: intent.current! },
      { nonce: '' },
      { nonce: 'n'.repeat(129) },
      { subject: 'a\0' },
      { overlap_seconds: -1 },
      { overlap_seconds: 1.5 },
      { expires_at: 0 },
      { current: { scheme: 'eip191', identifier: '0x1' } },
    ].map((changes) => ({ ...vector.body, intent: { ...intent, ...changes } })),
  ]
  for (const body of cases) t.is(readRotation(body), null, JSON.stringify(body))
})

test('rotation: of any two keys, no proof is good for another intent', (t) => {
  const scheme = fc.constantFrom(...SCHEMES)
  const seed = fc.integer({ min: 1, max: 200 })
  const changed = fc.constantFrom<JsonObject>(
    { subject: 'publisher:2' },
    { authority: 'b' },
    { nonce: 'n-2' },
    { overlap_seconds: 1 },
    { expires_at: EXPIRES_AT + 1 },
  )
  const rotations = fc.record({ from: scheme, to: scheme, oneSeed: seed, otherSeed: seed, changed })
  fc.assert(
    fc.property(rotations, ({ from, to, oneSeed, otherSeed, changed }) => {
      const current = openSigner({ scheme: from, key: Buffer.alloc(32, oneSeed) })!
      const replacement = openSigner({ scheme: to, key: Buffer.alloc(32, otherSeed + 1) })!
      fc.pre(from !== to || oneSeed !== otherSeed + 1)
      const around = { subject: 'publisher:1', authority: 'a' }
      const intent: JsonObject = {
        protocol: 'arkhai.market-identity-rotation.v1',
        current: { ...current.principal },
        replacement: { ...replacement.principal },
        ...around,
        nonce: 'n-1',
        overlap_seconds: 0,
        expires_at: EXPIRES_AT,
      }
      const principals = { current: current.principal, replacement: replacement.principal }
      const unsigned = { ...principals, ...around, nonce: 'n-1', overlapSeconds: 0, expiresAt: EXPIRES_AT }
      const message = rotationMessage(unsigned)
      const [one, other] = [current.sign(message), replacement.sign(message)]
      const signedBy = (first: string, second: string) => ({
        current_proof: { scheme: from, value: first },
        replacement_proof: { scheme: to, value: second },
      })
      t.true(isProven({ intent, ...signedBy(one, other) }))
      t.false(isProven({ intent: { ...intent, ...changed }, ...signedBy(one, other) }))
      t.false(isProven({ intent, ...signedBy(other, one) }))
    }),
    { numRuns: runs(60) },
  )
})
