import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { ExecutionContext } from 'ava'
import type { ListingQuery } from '../../src/domain/query.ts'
import type { HeldAnswer } from '../../src/domain/source/holding.ts'
import type { Item } from '../../src/domain/source/item.ts'
import { SourceError } from '../../src/domain/source/source-error.ts'
import type { UpstreamOptions } from '../../src/domain/source/upstream.ts'
import type { Filter } from '../../src/filter-spec/filter.ts'
import { parseCriteria } from '../../src/filter-spec/parameters.ts'
import { CopyIndex } from '../../src/listing-index/copy-index.ts'
import type { Scope } from '../../src/listing-index/scope.ts'
import { SourceSet } from '../../src/listing-index/source-set.ts'
import { createAgent } from '../../src/upstream/http/agent.ts'
import { PLAIN_QUERY, type UpstreamQuery } from '../../src/upstream/push-down.ts'
import {
  createUpstream,
  type Upstream,
  type UpstreamParts,
  UpstreamState,
} from '../../src/upstream/upstream.ts'
import { type FakeOptions, type FakeRegistry, startFakeRegistry } from './fake-registry.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'
import { run } from './steps.ts'

/** Milliseconds after which what is held is not fresh. */
export const PAST_FRESH = 15_000

/** An upstream over a scripted Registry, with the test's clock and without jitter. */
export type TestUpstream = Upstream & {
  state: UpstreamState
  fake: FakeRegistry
  clock: ManualClock
  options: UpstreamOptions
  index: CopyIndex
  /** Default: the open listings. Waits as long as nothing is there. */
  read: (query?: Partial<ListingQuery>) => Promise<Reading>
  /** Level, upstream, reason and message of each line. */
  logged: string[]
}

/** What is shown of the upstream, with what an answer says of it. */
export type Reading = Omit<HeldAnswer, 'source' | 'isCurrent'> & {
  listings: readonly Item[]
  total: number
  isCurrent?: HeldAnswer['isCurrent'] | undefined
}

export type TestUpstreamOptions = Partial<UpstreamOptions> & {
  /** Parts other than its options. */
  parts?: Partial<Omit<UpstreamParts, 'upstream' | 'clock' | 'snapshots'>>
  snapshots?: Partial<UpstreamParts['snapshots']>
  clock?: ManualClock
  /** Default: one is started. */
  fake?: FakeRegistry
}

/** An upstream composed like the service's, closed when the test ends. */
export async function openUpstream(
  t: ExecutionContext,
  fakeOptions: FakeOptions = {},
  { parts = {}, snapshots = {}, clock = manualClock(), fake: given, ...more }: TestUpstreamOptions = {},
): Promise<TestUpstream> {
  const fake = given ?? (await startFakeRegistry(fakeOptions))
  const kind = fakeOptions.kind ?? 'registry'
  const options = upstreamOptions({ url: fake.url, kind, ...more })
  const agent = createAgent(options, lookup as LookupFunction)
  const logged: string[] = []
  const addLine = (level: string) => (about: object, message: string) => {
    const { upstream, reason } = about as { upstream?: string; reason?: string }
    logged.push([level, upstream, reason, message].filter((part) => part !== undefined).join(' '))
  }
  const state = new UpstreamState()
  const index = snapshots.index ?? new CopyIndex([])
  const upstream = createUpstream({
    upstream: options,
    agent,
    state,
    gatewayId: 'ours',
    schema: null,
    // Too short for a retry, whose delay would wait for the test's clock.
    budgetMs: 0,
    freshSeconds: 15,
    sharedBreaker: null,
    log: { info: addLine('info'), warn: addLine('warn') },
    clock,
    random: () => 0.5,
    head: 0,
    snapshots: {
      index,
      storage: null,
      shared: null,
      filters: () => [],
      maxBytes: () => 2 ** 24,
      onResize: () => {},
      inTurn: (work) => work(),
      ...snapshots,
    },
    ...parts,
  })
  t.teardown(async () => {
    await upstream.close()
    await agent.destroy()
    if (given === undefined) await fake.close()
  })
  await upstream.start()
  const { signal } = new AbortController()
  const { source } = upstream
  const ranking = run(index.rank({ names: [options.name], groupBy: 'listing' }))
  const read: TestUpstream['read'] = async (asked) => {
    const query = listingQuery(asked)
    await source.prepare(query.caching, signal)
    if (query.listingId !== undefined) {
      const { copies, ...about } = await source.find({ ...query, listingId: query.listingId }, signal)
      return { ...about, listings: copies, total: copies.length }
    }
    const { source: number, ...about } = source.answer(query)
    const { status, criteria, priceLimit, publisher } = query
    const sellers = publisher === null ? null : new Set(index.sellers.numbersOf(publisher))
    const scope: Scope = { ranking, sources: new SourceSet([number]) }
    const matches = run(index.match(scope, { status, criteria, priceLimit, sellers }))
    const listings = matches.page({ limit: Number.POSITIVE_INFINITY })
    const version = index.versionOf(scope.sources)
    const isCurrent = (now?: number) => about.isCurrent(now) && index.versionOf(scope.sources) === version
    return { ...about, isCurrent, listings, total: matches.total }
  }
  return Object.assign(upstream, { state: parts.state ?? state, fake, clock, options, index, read, logged })
}

export function upstreamOptions(
  options: Partial<UpstreamOptions> & Pick<UpstreamOptions, 'url'>,
): UpstreamOptions {
  return {
    name: 'elsewhere',
    kind: 'registry',
    visibility: 'public',
    key: null,
    priority: 1,
    timeoutMs: 20_000,
    connectTimeoutMs: 10_000,
    maxInFlight: 8,
    refreshSeconds: 15,
    fullRefreshSeconds: options.refreshSeconds ?? 60,
    followedRefreshSeconds: 600,
    maxAgeSeconds: null,
    pin: null,
    maxListings: 20_000,
    allowPrivateAddresses: true,
    ...options,
  }
}

export function listingQuery(query: Partial<ListingQuery> = {}): ListingQuery {
  return { status: 'open', publisher: null, criteria: [], filters: [], ...query }
}

/** A query as an upstream is asked it. */
export function upstreamQuery(query: Partial<UpstreamQuery> = {}): UpstreamQuery {
  return { ...PLAIN_QUERY, ...query }
}

/** A query with these filters, in a vocabulary of these filters. */
export function filtered(
  vocabulary: readonly Filter[],
  ...filters: readonly (readonly [name: string, value: string])[]
): Pick<ListingQuery, 'filters' | 'criteria'> {
  const known = new Map(vocabulary.map((filter) => [filter.name, filter]))
  return { filters, criteria: parseCriteria({ filters: known }, filters) }
}

export function idsOf({ listings }: Pick<Reading, 'listings'>): string[] {
  return listings.map(({ listingId }) => listingId)
}

export function textsOf({ listings }: Pick<Reading, 'listings'>): string[] {
  return listings.map(({ bytes }) => Buffer.from(bytes).toString())
}

/** The error of a failing source. */
export async function failureOf(t: ExecutionContext, answer: Promise<unknown>): Promise<SourceError> {
  return (await t.throwsAsync(answer, { instanceOf: SourceError })) ?? t.fail()
}
