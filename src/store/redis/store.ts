import { Emitter } from '../../domain/emitter.ts'
import type { Micros } from '../../domain/timestamp.ts'
import {
  EVERY_SPACE,
  inOrder,
  type Moment,
  type Place,
  type Put,
  type Row,
  type Rows,
  type RowsRead,
  readPlace,
  SPACES,
  type Space,
  storeClosed,
} from '../rows.ts'
import { type Client, connected, loadClient, subscriberClient } from './connection.ts'
import { RecentRows } from './recent-rows.ts'
import { channelOf, FORMAT, pingKey, RedisSession } from './session.ts'

/** Entries kept of the log of commits, at least; a position in an older one is not known. */
const COMMITS_KEPT = 100_000
/** Bytes of rows per step and space, except the last row. Other commands wait for them. */
const MAX_BYTES = 1024 * 1024
const MAX_BULK_BYTES = 4 * 1024 * 1024
/** Between time of creation, time and value of a row; the value may have more of them. */
const SEPARATOR = '\u001f'
/** Of both times, which have 16 digits. */
const TIMES_BYTES = 34

export class RedisRows implements Rows {
  readonly #url: string
  readonly #session: RedisSession
  readonly #changes = new Emitter<ReadonlySet<Space>>()
  readonly #recent = new RecentRows()
  /** Its own connection: other commands have a short deadline, and would wait for the pages. */
  #bulk: Promise<RedisSession> | null = null
  #subscriber: Client | undefined

  constructor(url: string, session: RedisSession) {
    this.#url = url
    this.#session = session
    session.client.on('ready', () => {
      // A demoted master keeps its subscribers: only a new connection reaches the new master.
      if (this.#subscriber?.status === 'ready') this.#subscriber.disconnect(true)
      this.#recent.forget()
      // Listeners can read what they missed while Redis was away.
      this.#changes.emit(EVERY_SPACE)
    })
  }

  async get(places: readonly Place[], isForCommit = false): Promise<Moment> {
    const earlier = isForCommit ? this.#recent.get(places) : null
    if (earlier !== null) return earlier
    const names = places.map(readPlace)
    return this.#moment(places, names, await this.#session.call('get', asked(names), lastOf(names)))
  }

  async commit(end: Micros, puts: readonly Put[], places: readonly Place[] = []): Promise<Moment | null> {
    const names = places.map(readPlace)
    const times = puts.map(({ at }) => at)
    const commit = [
      end,
      Math.min(...times),
      Math.max(...times),
      COMMITS_KEPT,
      FORMAT,
      channelOf(this.#session.prefix),
      [...new Set(puts.map(({ space }) => numberOf(space)))].join(' '),
      names.length,
      ...asked(names),
      ...puts.flatMap((put) => [numberOf(put.space), put.key, textOf(put), put.at]),
    ]
    try {
      const answer = await this.#session.call('commit', commit, lastOf([...names, ...puts]))
      if (answer !== null) return this.#moment(places, names, answer)
      this.#recent.committed(end, puts)
      return null
    } catch (cause) {
      this.#recent.forget()
      throw cause
    }
  }

  #moment(places: readonly Place[], names: readonly Name[], answer: unknown): Moment {
    const [now, end, ...texts] = answer as [string, string, ...(string | null)[]]
    const rows = names.map(({ space, key }, n) => (texts[n] ? rowFrom(space, key, texts[n]) : null))
    const moment = { rows, now: Number(now), end: Number(end) }
    this.#recent.read(places, moment)
    return moment
  }

  async after(spaces: readonly Space[], at: Micros | null, limit: number, isBulk = false): Promise<RowsRead> {
    const session = isBulk ? await this.#bulkSession() : this.#session
    const most = isBulk ? MAX_BULK_BYTES : MAX_BYTES
    try {
      const answer = await session.call('after', [at ?? '', limit, most, ...spaces.map(numberOf)])
      const read = readFrom(answer as (string | number)[], spaces)
      if (isBulk && !read.hasMore) this.#endBulk()
      return read
    } catch (cause) {
      if (isBulk) this.#endBulk()
      throw cause
    }
  }

  onChange(notify: (spaces: ReadonlySet<Space>) => void): () => void {
    if (!this.#session.closed) this.#subscriber ??= this.#subscribe()
    return this.#changes.listen(notify)
  }

  /** Writes: a read would succeed on a replica, or with a full disk or memory. */
  async ping(): Promise<void> {
    await this.#session.run(() => this.#session.client.set(pingKey(this.#session.prefix), '', 'PX', 1000))
  }

  close(): Promise<void> {
    this.#subscriber?.disconnect()
    this.#endBulk()
    return this.#session.close()
  }

  #subscribe(): Client {
    const client = subscriberClient(this.#url)
    client.on('message', (_: string, text: string) =>
      this.#changes.emit(new Set(text.split(' ').map((number) => SPACES[Number(number) - 1]!))),
    )
    // Earlier messages may be lost, also with an earlier connection.
    const subscribed = () => this.#changes.emit(EVERY_SPACE)
    client.on('ready', () => client.subscribe(channelOf(this.#session.prefix)).then(subscribed, () => {}))
    client.connect().catch(() => {}) // it connects again by itself
    return client
  }

  #bulkSession(): Promise<RedisSession> {
    if (this.#session.closed) throw storeClosed()
    this.#bulk ??= this.#openBulk()
    return this.#bulk
  }

  async #openBulk(): Promise<RedisSession> {
    const session = new RedisSession(loadClient(this.#url), this.#session.prefix)
    try {
      await session.run(() => connected(session.client))
      return session
    } catch (cause) {
      session.client.disconnect()
      this.#bulk = null
      throw cause
    }
  }

  #endBulk(): void {
    const bulk = this.#bulk
    this.#bulk = null
    bulk?.then(
      ({ client }) => client.disconnect(),
      () => {},
    )
  }
}

/** As `commands.lua` counts them. */
const numberOf = (space: Space): number => SPACES.indexOf(space) + 1

type Name = Pick<Row, 'space' | 'key'>

const asked = (names: readonly Name[]) => names.flatMap(({ space, key }) => [numberOf(space), key])

const lastOf = (used: readonly Pick<Row, 'space'>[]): number =>
  Math.max(0, ...used.map(({ space }) => numberOf(space)))

export const textOf = ({ value, createdAt, at }: Put): string =>
  value === null ? '' : [createdAt, at, value].join(SEPARATOR)

function rowFrom(space: Space, key: string, text: string): Row {
  const first = text.indexOf(SEPARATOR)
  const second = text.indexOf(SEPARATOR, first + 1)
  return {
    space,
    key,
    createdAt: Number(text.slice(0, first)),
    at: Number(text.slice(first + 1, second)),
    value: text.slice(second + 1),
  }
}

function readFrom(answer: readonly (string | number)[], spaces: readonly Space[]): RowsRead {
  const [end, isKnown] = answer
  const read: { rows: Row[]; hasMore: boolean }[] = []
  const sizes: RowsRead['sizes'] = []
  let n = 2
  for (const space of spaces) {
    const [hasMore, held, total, newest, count] = answer.slice(n, n + 5).map(Number) as Five
    n += 5
    const rows = Array.from({ length: count }, (_, m) =>
      rowFrom(space, String(answer[n + 2 * m]), String(answer[n + 2 * m + 1])),
    )
    n += 2 * count
    read.push({ rows: rows.sort((one, other) => one.at - other.at), hasMore: hasMore === 1 })
    sizes.push({ rows: held, bytes: total - held * TIMES_BYTES, newest })
  }
  return { ...inOrder(read), end: Number(end), isKnown: isKnown === 1, sizes }
}

type Five = [number, number, number, number, number]
