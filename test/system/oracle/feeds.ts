import { isDeepStrictEqual } from 'node:util'
import type { ChangeJson } from '../../../src/wire/change.ts'
import { eventually } from '../../helpers/eventually.ts'
import { comparable, Follower } from '../../helpers/follower.ts'
import { type Random, seededRandom } from '../../helpers/random.ts'
import type { Teardown } from '../../helpers/registry.ts'
import { type FeedWorld, startFeedWorld } from './feed-world.ts'

export type FeedsOutcome = {
  /** Maps that were compared with a whole reading. */
  compared: number
  /** Changes that readers were sent. */
  changes: number
  /** Readings that readers took: one at first, others after a 410. */
  readings: number
  faults: string[]
}

type FeedsOptions = { rounds: number; isOver?: () => boolean }

/** Of the world between two comparisons. */
const MOST_STEPS = 8
/** Longer than a busy machine needs. */
const PATIENCE_MS = 30_000
const FILTERS = [
  '',
  '',
  'gpu_model=H100',
  'gpu_count_min=4',
  'price_token=USDC&price_max=2',
  'gpu_model=H200&region=Oslo',
]
/** At a gateway, upstreams are followed for open listings only. */
const OWN_STATUSES = ['sources=local', 'status=&sources=local', 'status=closed&sources=local']

/**
 * Readers follow markets that change, fail and restart: own Registries, upstreams, replicas and a gateway over a gateway. As
 * soon as a reader has caught up, its map is what `GET /listings` answers to the same query.
 */
export async function runFeeds(
  seed: number,
  { rounds, isOver = () => false }: FeedsOptions,
): Promise<FeedsOutcome> {
  const closers: (() => unknown)[] = []
  const owner: Teardown = { teardown: (close: () => unknown) => void closers.unshift(close) }
  const random = seededRandom(seed)
  const outcome: FeedsOutcome = { compared: 0, changes: 0, readings: 0, faults: [] }
  try {
    const world = await startFeedWorld(owner, random)
    const readers = Array.from({ length: 6 }, (_, n) => openReader(world, random.fork(`reader ${n}`)))
    for (const reader of readers) await reader.follower.begin()
    for (let round = 0; round < rounds && outcome.faults.length === 0 && !isOver(); round++) {
      for (let step = random.below(MOST_STEPS); step >= 0; step--) {
        await world.step(random)
        const reader = random.pick(readers)
        if (random.chance(0.5)) await reader.follow().catch(ignoreAway)
      }
      await world.refresh()
      // Where one replica is refused and another is not, a reader of both may lack what the first will show later.
      const failing = world.inner.length === 1 ? readers.filter(({ isOuter }) => !isOuter) : []
      // A source that fails removes nothing: what it had stays, and copies that others have are shown.
      outcome.faults.push(...(await compareAll(failing, true)))
      await world.heal()
      outcome.faults.push(...(await compareAll(readers, false)))
      outcome.compared += failing.length + readers.length
      outcome.faults = outcome.faults.map((fault) => `seed ${seed}, round ${round}, ${fault}`)
      if (outcome.faults.length > 0) outcome.faults.push(world.done())
    }
    for (const { follower } of readers) {
      outcome.changes += follower.changes.length
      outcome.readings += follower.readings
    }
    return outcome
  } finally {
    for (const close of closers) await close()
  }
}

type Reader = {
  name: string
  isOuter: boolean
  follower: Follower
  isKeyless: boolean
  /** Reads some changes, as JSON or as a stream that is cut off at any byte. */
  follow: () => Promise<void>
}

function openReader(world: FeedWorld, random: Random): Reader {
  const isOuter = random.chance(0.3)
  const isKeyless = random.chance(0.5)
  const query = random.pick(isOuter || random.chance(0.6) ? FILTERS : OWN_STATUSES)
  const headers = isKeyless ? {} : world.bearer(isOuter)
  // Positions are good at every replica.
  const nodes = () => (isOuter ? [world.outer] : world.inner)
  const follower = new Follower(
    { get: (path, more) => random.pick(nodes()).get(path, more) },
    { query, headers },
  )
  const follow = async (): Promise<void> => {
    if (random.chance(0.3)) return follower.catchUp(1 + random.below(4))
    await followStream(follower, `${random.pick(nodes()).url}/changes`, random.below(6000))
  }
  const name = `${isOuter ? 'the outer gateway' : 'the inner gateway'} ${isKeyless ? 'without a key' : 'with a key'}, ${query}`
  return { name, isOuter, follower, isKeyless, follow }
}

/** @param isFailing sources may be away, so the map may have more than a reading */
async function compareAll(readers: readonly Reader[], isFailing: boolean): Promise<string[]> {
  const faults: string[] = []
  for (const reader of readers) {
    const compared = compare(reader, isFailing)
    const fault = await (isFailing ? compared.catch(ignoreAway) : compared)
    if (fault !== null) faults.push(`${reader.name}: ${fault}`)
  }
  return faults
}

/** There is no reading where nothing matches but in sources that are away. */
function ignoreAway(error: unknown): null {
  if (error instanceof Error && error.message.startsWith('503')) return null
  throw error
}

/** @returns what is wrong, or `null` */
async function compare({ follower, isKeyless, follow }: Reader, isFailing: boolean): Promise<string | null> {
  const end = performance.now() + PATIENCE_MS
  await follow()
  const looked = await eventually('compared', async () => {
    await follower.catchUp()
    const { map } = await follower.read()
    const [kept, read] = [comparable(follower.map), comparable(map)]
    const isRight = without(read, kept).length === 0 && (isFailing || kept.length === read.length)
    if (isRight) return { fault: null }
    return performance.now() < end ? null : { fault: describeDifference(kept, read) }
  })
  const secret = isKeyless
    ? follower.changes.find((change) => change.type !== 'source' && change.listing_id.startsWith('secret-'))
    : undefined
  return secret === undefined ? looked!.fault : `was sent ${JSON.stringify(secret)}`
}

type Row = [key: string, ...unknown[]]

/** The rows that the others lack. */
const without = (rows: readonly Row[], others: readonly Row[]): Row[] =>
  rows.filter((row) => !others.some((other) => isDeepStrictEqual(row, other)))

function describeDifference(kept: Row[], read: Row[]): string {
  const text = (rows: Row[]): string => rows.map((row) => JSON.stringify(row)).join('\n')
  return `keeps\n${text(without(kept, read))}\nwhere a reading has\n${text(without(read, kept))}`
}

/** Applies the events among the first `bytes` of a stream, which ends there or after a moment without events. */
export async function followStream(follower: Follower, url: string, bytes: number): Promise<void> {
  const abort = new AbortController()
  const headers = { ...follower.headers, accept: 'text/event-stream', 'last-event-id': follower.position }
  const response = await fetch(`${url}?${follower.query}`, { headers, signal: abort.signal }).catch(
    () => null,
  )
  // A node that has just restarted.
  if (response === null) return
  if (response.status === 410) {
    abort.abort()
    return follower.begin()
  }
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  const timer = setTimeout(() => abort.abort(), IDLE_MS)
  let text = ''
  try {
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk).toString('latin1')
      if (text.length >= bytes) break
    }
  } catch {} // cut off
  clearTimeout(timer)
  abort.abort()
  const cut = Buffer.from(text.slice(0, bytes), 'latin1').toString()
  for (const event of cut.split('\n\n').slice(0, -1)) {
    const [, data] = /^data: (.*)$/m.exec(event) ?? []
    if (data !== undefined) follower.apply(JSON.parse(data) as ChangeJson)
    follower.position = /^id: (.*)$/m.exec(event)?.[1] ?? follower.position
  }
}

const IDLE_MS = 60
