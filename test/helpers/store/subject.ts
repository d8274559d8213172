import type { ExecutionContext } from 'ava'
import type { PublishReceipt } from '../../../src/domain/listing.ts'
import { listingFrom } from '../../../src/domain/listing-row.ts'
import { nowMicros } from '../../../src/domain/timestamp.ts'
import type {
  Change,
  ChangelogPosition,
  LoadVisitor,
  NewKey,
  PublishCommand,
  RemoveCommand,
  UpdateCommand,
  UsedSignature,
  WriteRequest,
} from '../../../src/store/commands.ts'
import type { Store } from '../../../src/store/store.ts'

/** Opens an empty store for one test and closes it. `another` opens a second one on the same data. */
export type OpenStore = (
  t: ExecutionContext,
  options?: { removedKept?: number; usesKept?: number },
) => Promise<{ store: Store; another: () => Promise<Store> }>

export const ALICE = { scheme: 'eip191', identifier: '0xa11ce' }
export const BOB = { scheme: 'eip191', identifier: '0xb0b' }

const TEN_MINUTES = 600_000_000
let uses = 0

/** A signature that no other test has used, valid for ten minutes. */
export function freshUse(overrides: Partial<UsedSignature> = {}): UsedSignature {
  uses++
  return {
    signature: `signature-${uses}`,
    body: `body-${uses}`,
    expiresAt: nowMicros() + TEN_MINUTES,
    now: nowMicros(),
    ...overrides,
  }
}

/** A write of the signed line likewise. */
export function freshRequest(overrides: Partial<WriteRequest> = {}): WriteRequest {
  const { signature, now, expiresAt } = freshUse()
  return { requestKey: `request of ${signature}`, hash: 'hash', now, expiresAt, ...overrides }
}

export const publishOf = (listingId: string, overrides: Partial<PublishCommand> = {}): PublishCommand => ({
  identity: ALICE,
  listingId,
  storefrontUrl: null,
  fields: {},
  status: null,
  maxListings: 0,
  keyId: null,
  use: freshUse(),
  ...overrides,
})

export const updateOf = (listingId: string, overrides: Partial<UpdateCommand> = {}): UpdateCommand => ({
  identity: ALICE,
  listingId,
  status: null,
  oracleAddress: undefined,
  use: freshUse(),
  ...overrides,
})

export const removeOf = (listingId: string, overrides: Partial<RemoveCommand> = {}): RemoveCommand => ({
  identity: ALICE,
  listingId,
  use: freshUse(),
  ...overrides,
})

export const keyNamed = (name: string, overrides: Partial<NewKey> = {}): NewKey => ({
  name,
  scope: 'read',
  hash: `hash of ${name}`,
  expiresAt: null,
  ...overrides,
})

/** Publishes and returns the receipt; throws if the store refuses. */
export async function published(store: Store, command: PublishCommand): Promise<PublishReceipt> {
  const outcome = await store.publish(command)
  if (outcome.outcome !== 'published') throw new Error(`expected published, got ${outcome.outcome}`)
  return outcome.record
}

/** Resolves the next time that the store reports a change. */
export const notified = (store: Store): Promise<void> =>
  new Promise((resolve) => {
    const stop = store.onChange(() => {
      stop()
      resolve()
    })
  })

/** A load visitor that gets listings, keys and publishers as changes. */
export const visitorOf = (visit: (change: Change) => void): LoadVisitor => ({
  change: visit,
  listings: (page) => {
    for (const row of page) visit({ kind: 'listing', record: listingFrom(row) })
  },
})

/** Everything that `load` visits, in order, and the position that it returns. */
export async function loaded(store: Store): Promise<{ changes: Change[]; position: ChangelogPosition }> {
  const changes: Change[] = []
  const position = await store.load(visitorOf((change) => changes.push(change)))
  return { changes, position }
}

/** All changes after a position, read `limit` at a time until there are no more. */
export async function replayed(
  store: Store,
  from: ChangelogPosition,
  limit = 1000,
): Promise<{ changes: Change[]; position: ChangelogPosition }> {
  const changes: Change[] = []
  for (let position = from; ; ) {
    const read = await store.changesAfter(position, limit)
    if (read === 'lost') throw new Error(`position ${position} is lost`)
    changes.push(...read.changes)
    position = read.position
    if (!read.hasMore) return { changes, position }
  }
}
