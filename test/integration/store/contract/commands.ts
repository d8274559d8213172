import fc from 'fast-check'
import { LISTING_STATUSES } from '../../../../src/domain/listing.ts'
import type { WriteRequest } from '../../../../src/store/commands.ts'
import type { Store } from '../../../../src/store/store.ts'
import { ALICE, BOB } from '../../../helpers/store/subject.ts'

const SECOND = 1_000_000

/** Few of each, so that commands meet. */
const identity = fc.constantFrom(ALICE, BOB, { scheme: 'other', identifier: ALICE.identifier })
const listingId = fc.constantFrom('L', 'M', 'N')
const status = fc.constantFrom(null, ...LISTING_STATUSES)
const storefrontUrl = fc.constantFrom(null, null, '', 'https://a.example', 'https://b.example')
const fields = fc.record(
  {
    offerResource: fc.json(),
    acceptedEscrows: fc.constantFrom('[]', '[{"rates":[1.50]}]'),
    demands: fc.json(),
    maxDurationSeconds: fc.constantFrom('0', '3600', '1e3'),
    oracleAddress: fc.constantFrom('null', '"0x1"'),
    settlementOptions: fc.constantFrom('[]', '[{"rates":[1.50]}]'),
  },
  { requiredKeys: [] },
)
const newKey = fc.record({
  name: fc.string({ unit: 'grapheme', maxLength: 8 }),
  scope: fc.constantFrom('read', 'write'),
  hash: fc.stringMatching(/^[0-9a-f]{8}$/),
  expiresAt: fc.constantFrom(null, 1_800_000_000_000_000),
})

const maxListings = fc.constantFrom(0, 0, 2)
const keyId = fc.constantFrom(null, null, 1, 2)
const rotation = fc
  .record({
    current: identity,
    replacement: fc.oneof(identity, fc.constant({ scheme: 'ed25519', identifier: 'carol' })),
    nonce: fc.constantFrom('a', 'b'),
    overlapSeconds: fc.constantFrom(0, 50),
  })
  .filter(({ current, replacement }) => current !== replacement)
  .map((intent) => ({ ...intent, expiresAt: 1000 }))
const publisherId = fc.constantFrom(1, 1, 2, 3)
const retirement = fc.record({ publisherId, nonce: fc.constantFrom('a', 'b'), identity })
type Mutate = (on: Mutable, use: WriteRequest) => unknown
const named = (name: string, mutate: Mutate) => ({ name, mutate })
/** In seconds, of the clocks that accept signatures and requests. */
type Clocks = { signatures: fc.Arbitrary<number>; requests: fc.Arbitrary<number> }

/** Nothing ever expires. */
export const CALM: Clocks = {
  signatures: fc.constantFrom(0, 0, 0, 5, 6),
  requests: fc.constantFrom(0, 5, 31, 99),
}

/** Set to and fro; most of the time nothing has expired. */
export const WILD: Clocks = {
  signatures: fc.oneof({ weight: 20, arbitrary: CALM.signatures }, fc.constantFrom(99, 100, 250)),
  requests: fc.constantFrom(0, 5, 31, 100, 250),
}

export function commandsBy({ signatures, requests }: Clocks) {
  /** Signature n is good until 100 n s. */
  const use = fc
    .record({
      n: fc.integer({ min: 1, max: 6 }),
      body: fc.constantFrom('body-1', 'body-2'),
      clock: signatures,
    })
    .map(({ n, body, clock }) => ({
      signature: `signature-${n}`,
      body,
      expiresAt: 100 * n * SECOND,
      now: Math.min(clock * SECOND, 100 * n * SECOND - 1),
    }))
  /** Id n likewise; each try has a time of its own. */
  const request = fc
    .record({
      n: fc.integer({ min: 1, max: 4 }),
      hash: fc.constantFrom('hash-1', 'hash-1', 'hash-2'),
      now: requests.map((seconds) => seconds * SECOND),
    })
    .map(({ n, hash, now }) => ({ requestKey: `request-${n}`, hash, now, expiresAt: now + 150 * SECOND }))
  const publish = fc.record({ identity, listingId, storefrontUrl, fields, status, maxListings, keyId, use })
  const update = fc.record({
    identity,
    listingId,
    status,
    oracleAddress: fc.constantFrom(undefined, 'null', '"0x2"'),
    use,
  })
  const signed = fc.oneof(
    publish.map((it) => named('publish', (on, use) => on.publish({ ...it, use }))),
    update.map((it) => named('update', (on, use) => on.update({ ...it, use }))),
    fc.record({ identity, listingId }).map((it) => named('remove', (on, use) => on.remove({ ...it, use }))),
    fc
      .record({ publisherId, intent: rotation })
      .map((it) => named('rotate', (on, use) => on.rotate({ ...it, use }))),
    retirement.map((it) => named('retire', (on, use) => on.retire({ ...it, use }))),
  )
  const answer = fc.constantFrom(undefined, null, { status: 201, body: '{"ü":1}' })
  /** As the service does: a mutation follows a reservation, and an answer the mutation. */
  const signedWrite = fc
    .record({ request, signed, answer })
    .map(({ request, signed: { name, mutate }, answer }) => async (on: Mutable) => {
      const use = { ...request, hash: `${name} ${request.hash}` }
      const reservation = await on.reserve(use)
      if ((reservation as { outcome: string }).outcome !== 'reserved') return reservation
      const outcome = await mutate(on, use)
      if (answer !== undefined) await on.settle(use, answer)
      return outcome
    })
  return fc.oneof(
    { weight: 6, arbitrary: signedWrite },
    { weight: 6, arbitrary: publish.map((it) => (on: Mutable) => on.publish(it)) },
    { weight: 3, arbitrary: update.map((it) => (on: Mutable) => on.update(it)) },
    {
      weight: 3,
      arbitrary: fc.record({ identity, listingId, use }).map((it) => (on: Mutable) => on.remove(it)),
    },
    {
      weight: 1,
      arbitrary: fc.record({ operation: fc.constantFrom('publish', 'update', 'remove'), listingId, use }).map(
        ({ use: { signature }, ...it }) =>
          (on: Mutable) =>
            on.hasUse({ ...it, signature }),
      ),
    },
    { weight: 1, arbitrary: newKey.map((it) => (on: Mutable) => on.addKey(it)) },
    { weight: 1, arbitrary: newKey.map((it) => (on: Mutable) => on.seedKey(it)) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 3 }).map((id) => (on: Mutable) => on.revokeKey(id)) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 9 }), newKey)
        .map((it) => (on: Mutable) => on.replaceKey(...it)),
    },
  )
}

/** What the store and its model have in common; the model answers at once. */
export type Mutable = {
  [M in
    | 'publish'
    | 'update'
    | 'remove'
    | 'hasUse'
    | 'reserve'
    | 'settle'
    | 'rotate'
    | 'retire'
    | 'addKey'
    | 'seedKey'
    | 'replaceKey'
    | 'revokeKey']: (...given: Parameters<Store[M]>) => unknown
}
