import { type Block, BlockedSubjects, type BlockSubject, type NewBlock } from '../domain/block.ts'
import { identitiesOf, type PublisherIdentity } from '../domain/publisher.ts'
import { EntrepotError } from '../errors.ts'
import { publisherOf } from '../signing/principal.ts'
import type { Store } from '../store/store.ts'
import type { Projection } from './projection.ts'
import type { Replica } from './replica.ts'

/** Most blocks that hold at once: each listing is compared with all of them. */
const MAX_BLOCKS = 1000

/** What operators leave out at run time. */
export class Blocks {
  readonly #store: Store
  readonly #replica: Replica

  constructor(store: Store, replica: Replica) {
    this.#store = store
    this.#replica = replica
  }

  /** Newest first, ended ones included. */
  list(): Block[] {
    return this.#replica.projection.blocks()
  }

  /** @throws EntrepotError `quota_exceeded` beyond `MAX_BLOCKS` */
  async add(block: NewBlock): Promise<Block> {
    if (activeBlocks(this.#replica.projection).length >= MAX_BLOCKS)
      throw new EntrepotError(
        'quota_exceeded',
        `${MAX_BLOCKS} blocks hold, and no more are kept: end some first`,
      )
    const added = await this.#store.addBlock(block)
    await this.#replica.catchUp()
    return added
  }

  /** Idempotent; `false` for an unknown id. */
  async end(id: number): Promise<boolean> {
    const block = await this.#store.endBlock(id)
    await this.#replica.catchUp()
    return block !== null
  }

  /** Ends those whose time may be up. The store's clock decides. @param now of this process */
  async endDue(now: number): Promise<void> {
    const due = activeBlocks(this.#replica.projection).filter(({ until }) => until !== null && until <= now)
    await Promise.all(due.map(({ id }) => this.#store.endBlock(id, true)))
  }
}

export function activeBlocks(projection: Projection): Block[] {
  return projection.blocks().filter(({ endedAt }) => endedAt === null)
}

/** What a block of this subject is about: also under the other keys of a publisher that the own Registry knows. */
export function subjectsOf(subject: BlockSubject, projection: Projection): BlockSubject[] {
  if (subject.kind === 'storefront') return [subject]
  const known = projection.publisherNamed(subject.publisher)
  if (known === null || known.rotations.length === 0) return [subject]
  return identitiesOf(known).map((identity) => ({ ...subject, publisher: publisherOf(identity) }))
}

type Write = { identity: PublisherIdentity; listingId: string; storefrontUrl: string | null }

/** The own Registry as a source, and what the gateway file denies there. */
export type LocalRules = { name: string; denied: readonly Pick<Block, 'subject' | 'reason'>[] }

/**
 * After the signature was checked, whatever identity of the publisher has signed.
 * @throws EntrepotError `forbidden` with the operator's reason
 */
export function refuseBlocked(
  projection: Projection,
  { identity, listingId, storefrontUrl }: Write,
  { name, denied }: LocalRules,
): void {
  const active = activeBlocks(projection).filter(({ source }) => source === null || source === name)
  const publisher = projection.publisherOf(identity)
  const identities = [identity, ...(publisher === null ? [] : identitiesOf(publisher))]
  const names = new Set(identities.map(publisherOf))
  const storefronts = [storefrontUrl, publisher?.storefrontUrl ?? null]
  const isAbout = (subject: BlockSubject): boolean =>
    subject.kind === 'storefront'
      ? storefronts.some((url) => new BlockedSubjects([subject]).hasStorefront(url))
      : names.has(subject.publisher) && (subject.kind === 'publisher' || subject.listingId === listingId)
  const blocking = [...denied, ...active].find(({ subject }) => isAbout(subject))
  if (blocking !== undefined)
    throw new EntrepotError('forbidden', `The operator of this Registry has blocked this: ${blocking.reason}`)
}
