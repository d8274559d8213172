import { ANONYMOUS } from '../../src/domain/api-key.ts'
import { TokenTable } from '../../src/domain/price/token.ts'
import type { ListingQuery } from '../../src/domain/query.ts'
import type { Item } from '../../src/domain/source/item.ts'
import { EMPTY_SPEC } from '../../src/filter-spec/filter.ts'
import type { AskRequest } from '../../src/gateway/asking.ts'
import { Cursors } from '../../src/gateway/pages/cursor.ts'
import { ItemPrices } from '../../src/gateway/pages/item-price.ts'
import type { MergedItem } from '../../src/gateway/pages/merged-item.ts'
import { streamListings } from '../../src/gateway/pages/ndjson.ts'
import { type MergedPage, type Paging, readPage } from '../../src/gateway/pages/page.ts'
import { NO_BOUNDS } from '../../src/gateway/pages/price-bounds.ts'
import { renderItem } from '../../src/gateway/pages/render.ts'
import { createReaders } from '../../src/gateway/readers.ts'
import { type Curation, Rules } from '../../src/gateway/rules.ts'
import { rankSources } from '../../src/gateway/sources.ts'
import { CopyIndex } from '../../src/listing-index/copy-index.ts'
import { type FakeSource, hold } from './fake-source.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'
import { filterOf } from './specs.ts'
import { run } from './steps.ts'
import { listingQuery } from './upstream.ts'
import { VOCABULARY } from './vocabulary.ts'

type ReadOptions = Partial<AskRequest> & { cursor?: string | null }

/** `USDC` has two addresses. */
export const TOKENS = new TokenTable([
  { chain: 'base', address: '0xa', symbol: 'USDC', decimals: 6 },
  { chain: 'ethereum', address: '0xb', symbol: 'USDC', decimals: 6 },
  { chain: 'base', address: '0xc', symbol: 'WETH', decimals: 18 },
])

/** Columns of the indexes of gateways. */
export const MODEL = filterOf('gpu_model')
/** Small segments, so that a short test has many of them. */
const SIZES = { tail: 3, segment: 16_384, step: 4096 }

type GatewayOptions = {
  clock?: ManualClock
  curation?: Curation
  tokens?: TokenTable
  index?: CopyIndex
}

/** What a gateway over these sources answers with. */
export function settingsOver(
  sources: readonly FakeSource[],
  {
    clock = manualClock(),
    curation,
    tokens = TOKENS,
    index = new CopyIndex([MODEL], SIZES),
  }: GatewayOptions = {},
) {
  const holdings = sources.map((source) => hold(index, source, clock.monotonic()))
  const names = rankSources(holdings).map(({ name }) => name)
  const rules = new Rules(index, names, curation)
  const ranking = run(index.rank({ names, groupBy: 'listing', isOut: rules.isOut }))
  rules.onChange((concerned) =>
    index.decideAgain(ranking, [...new Set([...concerned.values()].flatMap((ids) => [...ids]))]),
  )
  return {
    index,
    ranking,
    rules,
    sources: holdings.map((holding) => ({ ...holding, health: () => [] })),
    spec: EMPTY_SPEC,
    ranks: new Map(names.map((name, rank) => [name, rank])),
    budgetMs: 60_000,
    clock,
    tokens,
    vocabulary: VOCABULARY,
    itemPrices: new ItemPrices(tokens),
    cursors: new Cursors('the secret of all replicas', () => clock.now() / 1000),
    boundsOf: async () => NO_BOUNDS,
  }
}

/** A gateway over these sources; a second one over the same sources is its replica. */
export function gatewayOver(
  sources: readonly FakeSource[],
  { clock = manualClock(), ...options }: GatewayOptions = {},
) {
  const settings = settingsOver(sources, { clock, ...options })
  const askingOf = ({
    reader = createReaders({ sources }).of(ANONYMOUS),
    signal = new AbortController().signal,
    budgetMs = 60_000,
    ...options
  }: ReadOptions) => ({
    reader,
    signal,
    budgetMs,
    ...options,
  })
  /** Default: the first 50 listings. */
  const page = (
    { limit = 50, offset = 0, ...query }: Partial<ListingQuery & Paging> = {},
    { cursor = null, ...options }: ReadOptions = {},
  ) =>
    readPage(settings, { query: listingQuery(query), request: askingOf(options) }, { limit, offset, cursor })
  /** Lines of the stream; the last one is about the sources. */
  const lines = async (
    options: ReadOptions = {},
    onChunk = (): void => {},
    query: Partial<ListingQuery> = {},
  ): Promise<Record<string, unknown>[]> => {
    const request = askingOf(options)
    const { lines } = await streamListings(settings, {
      query: listingQuery(query),
      spec: EMPTY_SPEC,
      request,
    })
    const chunks: Buffer[] = []
    for await (const chunk of lines) {
      chunks.push(chunk)
      onChunk()
    }
    return Buffer.concat(chunks)
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }
  return { page, lines }
}

/** All items, page by page, by offset. `sizes`: of the pages, in turn. */
export async function readByOffset(
  sources: readonly FakeSource[],
  sizes: readonly number[],
  options: ReadOptions = {},
): Promise<Item[]> {
  const items: Item[] = []
  for (let n = 0; ; n++) {
    const limit = sizes[n % sizes.length]!
    const page = await gatewayOver(sources).page({ offset: items.length, limit }, options)
    items.push(...page.items.map(({ item }) => item))
    if (page.items.length < limit) return items
  }
}

/** The same by cursor, each page from another replica. `between` runs before each page but the first. */
export async function readByCursor(
  sources: readonly FakeSource[] | (() => readonly FakeSource[]),
  sizes: readonly number[],
  { between = () => {}, ...options }: ReadOptions & { between?: (page: number) => void } = {},
): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | null = null
  for (let n = 0; ; n++) {
    const gateway = gatewayOver(typeof sources === 'function' ? sources() : sources)
    const page: MergedPage = await gateway.page({ limit: sizes[n % sizes.length]! }, { ...options, cursor })
    items.push(...page.items.map(({ item }) => item))
    if (page.nextCursor === undefined) return items
    cursor = page.nextCursor
    between(n)
  }
}

/** Id and publisher, which identify a listing. */
export function keyOf({ listingId, publisher }: Item): string {
  return `${listingId} ${publisher}`
}

export function idsOfPage({ items }: Pick<MergedPage, 'items'>): string[] {
  return items.map(({ item }) => item.listingId)
}

/** The `_meta` of a rendered item. */
export function metaOf(item: MergedItem | undefined): Record<string, unknown> | undefined {
  return item && JSON.parse(renderItem(item).toString())._meta
}
