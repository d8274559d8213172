import type { NewAuditEntry } from '../../../src/domain/audit.ts'
import type { NewBlock } from '../../../src/domain/block.ts'
import type { Store } from '../../../src/store/store.ts'
import { ALICE, BOB } from '../seller.ts'
import { published, publishOf, removeOf } from './subject.ts'

export const identityOf = ({ address }: typeof ALICE) => ({
  scheme: 'eip191',
  identifier: address.toLowerCase(),
})

export const FROZEN_ID = 'L "ü"'
export const FROZEN_OFFER = '{ "gpu_model":"H200", "ü":"\\u00fc" }'

const FOREVER = 4_000_000_000_000_000
const SIGNED_AT = 1_790_000_000_000_000
export const SPENT_AT = 1_790_000_100_000_000

/** Of a frozen store: `signature-N`. The second one is spent by the time of the third. */
const use = (n: number) => ({
  signature: `signature-${n}`,
  body: `body-${n}`,
  expiresAt: n === 2 ? SPENT_AT : FOREVER,
  now: n > 2 ? SPENT_AT + 1 : SIGNED_AT,
})

/** Each subject, of which the second has ended. */
export const FROZEN_BLOCKS: readonly NewBlock[] = [
  {
    subject: { kind: 'publisher', publisher: '0xa' },
    source: null,
    reason: 'ticket “812”\n',
    by: 'ann',
    until: null,
  },
  {
    subject: { kind: 'storefront', url: 'https://a.example/shop' },
    source: 'eu',
    reason: 'r',
    by: 'bob',
    until: null,
  },
  {
    subject: { kind: 'listing', publisher: ALICE.address.toLowerCase(), listingId: FROZEN_ID },
    source: null,
    reason: 'r',
    by: 'ann',
    until: FOREVER,
  },
]

const ACT = { by: 'ann', keyId: 1, publisher: null, subject: '0xa', client: null, result: 'ok' } as const
export const FROZEN_ACTS: readonly NewAuditEntry[] = [
  { ...ACT, kind: 'operator', act: 'block.add' },
  { ...ACT, kind: 'seller', act: 'listing.publish', publisher: '0xa' },
]

/** What `scripts/freeze-stores.ts` freezes, through the store alone. */
export async function fillFrozen(store: Store): Promise<void> {
  const [alice, bob] = [ALICE, BOB].map(identityOf)
  await store.addKey({ name: 'old ü', scope: 'write', hash: 'a'.repeat(64), expiresAt: null })
  const fields = {
    offerResource: FROZEN_OFFER,
    oracleAddress: '"0x1"',
    acceptedEscrows: '[{"rates":[1.50]}]',
  }
  const storefrontUrl = 'http://a.example/'
  await published(store, publishOf(FROZEN_ID, { identity: alice!, storefrontUrl, fields, use: use(1) }))
  await published(store, publishOf('M', { identity: bob!, status: 'closed', use: use(2) }))
  await published(store, publishOf('N', { identity: alice!, use: use(3) }))
  await store.remove(removeOf('N', { identity: alice!, use: use(4) }))
  await fillNewer(store)
}

/** What stores before 0.4.0 do not have. */
async function fillNewer(store: Store): Promise<void> {
  await store.addKey({
    name: 'partner',
    scope: 'read',
    hash: 'b'.repeat(64),
    expiresAt: FOREVER,
    view: 'partners',
  })
  await store.revokeKey(
    (await store.addKey({ name: 'ann', scope: 'admin', hash: 'c'.repeat(64), expiresAt: null })).id,
  )
  for (const block of FROZEN_BLOCKS) await store.addBlock(block)
  await store.endBlock(2)
  for (const entry of FROZEN_ACTS)
    await store.appendAudit(entry, { maxBytes: 1_000_000, maxAgeMicros: FOREVER })
  const carol = { scheme: 'ed25519', identifier: 'carol' }
  const request = { requestKey: 'request-5', hash: 'hash', now: SPENT_AT + 1, expiresAt: FOREVER }
  await store.reserve(request)
  const settlementOptions = '[{"rates":[1.50]}]'
  await published(store, publishOf('R', { identity: carol, use: request, fields: { settlementOptions } }))
  await store.settle(request, { status: 201, body: '{}' })
  const replacement = { scheme: 'ed25519', identifier: 'carol again' }
  const intent = {
    nonce: 'n',
    current: carol,
    replacement,
    overlapSeconds: 0,
    expiresAt: FOREVER / 1_000_000,
  }
  const rotation = { ...request, requestKey: 'request-6' }
  await store.reserve(rotation)
  await store.rotate({ publisherId: 3, intent, use: rotation })
}
