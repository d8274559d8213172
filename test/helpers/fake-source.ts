import { Emitter } from '../../src/domain/emitter.ts'
import type { ListingStatus } from '../../src/domain/listing.ts'
import { identityKey } from '../../src/domain/listing-identity.ts'
import type { Holding } from '../../src/domain/source/holding.ts'
import type { Item } from '../../src/domain/source/item.ts'
import type { SourceReason } from '../../src/domain/source/reasons.ts'
import { SourceError } from '../../src/domain/source/source-error.ts'
import type { Micros } from '../../src/domain/timestamp.ts'
import type { Row } from '../../src/listing-index/copy.ts'
import type { CopyIndex } from '../../src/listing-index/copy-index.ts'
import { run } from './steps.ts'

/** Default status: open. */
export type FakeItem = Item & { status?: ListingStatus }

type ItemOptions = Partial<FakeItem> & { offer?: object; escrows?: object[] }

/** A listing with its id, date, `offer` and `escrows` in its document. */
export function fakeItem(
  listingId: string,
  position: Micros,
  { offer = {}, escrows = [], ...fields }: ItemOptions = {},
): FakeItem {
  const document = {
    listing_id: listingId,
    created_at: position,
    offer_resource: offer,
    accepted_escrows: escrows,
  }
  return {
    bytes: Buffer.from(JSON.stringify(document)),
    listingId,
    position,
    storefrontUrl: 'http://storefront.example/',
    publisher: null,
    ...fields,
  }
}

/** A source as what it has, which may be changed between two questions, and in a stream. */
export type FakeSource = Pick<Holding, 'name' | 'visibility' | 'priority' | 'isOwn' | 'isGateway'> & {
  items: readonly FakeItem[]
  failure: SourceReason | null
  isStale: boolean
  /** Of its listings. */
  coverage: 'whole' | 'loading'
  /** Changes the items, in every gateway over the source. */
  change: (edit: (items: FakeItem[]) => unknown) => void
  onChange: (listener: () => void) => () => void
}

/** An upstream that holds these listings, or the own Registry. */
export function fakeSource(
  name: string,
  items: readonly FakeItem[],
  options: Partial<FakeSource> = {},
): FakeSource {
  const changes = new Emitter<void>()
  const source: FakeSource = {
    name,
    visibility: 'public',
    isOwn: false,
    isGateway: false,
    priority: 1,
    failure: null,
    isStale: false,
    coverage: 'whole',
    change: (edit) => {
      const changed = [...source.items]
      edit(changed)
      source.items = changed
      changes.emit()
    },
    onChange: changes.listen,
    ...options,
    items: [...items],
  }
  return source
}

/** Of the source, by what a gateway knows: upstreams are held open. */
export const heldItems = ({ items, isOwn }: FakeSource): readonly FakeItem[] =>
  items.filter(({ status = 'open' }) => isOwn || status === 'open')

/** A gateway may have several items of one id. */
export function keyIn({ isGateway }: Pick<FakeSource, 'isGateway'>, item: FakeItem): string {
  return isGateway ? `${item.listingId}\n${identityKey(item)}` : item.listingId
}

/** Why a list of that status has nothing of the source. */
export function refusalOf(
  { name, failure, isOwn }: FakeSource,
  status: ListingStatus | null,
): SourceError | null {
  if (failure !== null) return new SourceError(failure, `${name}: scripted`)
  const isNotHeld = !isOwn && status !== null && status !== 'open'
  return isNotHeld ? new SourceError('open_only', `${name}: scripted`) : null
}

/** The source in an index, which follows its changes. */
export function hold(index: CopyIndex, fake: FakeSource, asOf: number): Holding {
  const { name, visibility, priority, isOwn, isGateway } = fake
  const source = index.addSource(name, isOwn)
  const rowOf = (key: string, item: FakeItem): Row => {
    const { publisher, storefrontUrl, position, bytes, origin, status = 'open' } = item
    const seller = index.sellers.numberOf({ publisher, storefrontUrl }, `${name} ${key}`)
    return { key, seller, status, position, bytes, origin }
  }
  const itemsByKey = () => new Map(heldItems(fake).map((item) => [keyIn(fake, item), item]))
  let held = itemsByKey()
  run(
    index.load(
      source,
      Array.from(held, ([key, item]) => rowOf(key, item)),
    ),
  )
  fake.onChange(() => {
    const before = held
    held = itemsByKey()
    for (const key of before.keys()) if (!held.has(key)) index.remove(source, key)
    for (const [key, item] of held) if (before.get(key) !== item) index.put(source, rowOf(key, item))
  })
  return {
    name,
    visibility,
    priority,
    isOwn,
    isGateway,
    answer: ({ status }) => {
      const refusal = refusalOf(fake, status)
      if (refusal !== null) throw refusal
      const part = fake.coverage === 'loading' ? { part: { state: fake.coverage } as const } : {}
      return { source, asOf, stale: fake.isStale, isCurrent: () => true, ...part }
    },
    rows: () => source,
    coverage: () => (fake.failure === null ? fake.coverage : 'none'),
    prepare: () => null,
    find: () => Promise.reject(new SourceError('connection_refused', `${name}: is not asked here`)),
    follow: () => () => {},
  }
}
