import test from 'ava'
import {
  type Moment,
  type Place,
  type Put,
  placeOf,
  type Row,
  type Rows,
  StoreUnavailable,
} from '../../../src/store/rows.ts'
import { type Draft, Writer } from '../../../src/store/writer.ts'

/** Rows in a map: commits are counted, and one can be refused, or interrupted by another process. */
class MapRows implements Pick<Rows, 'get' | 'commit'> {
  readonly rows = new Map<Place, Row>()
  reads = 0
  commits = 0
  /** Each runs before a commit is checked. */
  meanwhile: (() => void)[] = []
  refused = ''
  isAway = false
  /** Is answered where an earlier moment may be. */
  earlier: Moment | null = null
  #time = 1

  async get(places: readonly Place[], isForCommit = false): Promise<Moment> {
    if (isForCommit && this.earlier !== null) return this.earlier
    this.reads++
    const rows = places.map((place) => this.rows.get(place) ?? null)
    return { rows, now: this.#time + 1, end: this.#time }
  }

  async commit(end: number, puts: readonly Put[], places: readonly Place[]) {
    this.meanwhile.shift()?.()
    if (this.isAway) throw new StoreUnavailable('away')
    if (puts.some(({ value }) => value === this.refused)) throw new StoreUnavailable('full', null, true)
    if (end !== this.#time) return this.get(places)
    for (const put of puts) this.put(put)
    this.commits++
    return null
  }

  put({ value, ...row }: Put): void {
    this.#time = Math.max(this.#time, row.at)
    if (value === null) this.rows.delete(placeOf(row.space, row.key))
    else this.rows.set(placeOf(row.space, row.key), { ...row, value })
  }

  valueOf(key: string): string | undefined {
    return this.rows.get(placeOf('facts', key))?.value
  }
}

function setUp() {
  const rows = new MapRows()
  return { rows, writer: new Writer(rows) }
}

const put = (key: string, value: string) => (draft: Draft) => {
  draft.put('facts', key, value)
  return value
}

/** Adds one to a number. */
const count = (key: string) => (draft: Draft) => {
  const next = Number(draft.get('facts', key)?.value ?? 0) + 1
  draft.put('facts', key, String(next))
  return next
}

test('writer: writes of one turn share a commit, see each other, and settle in order', async (t) => {
  const { rows, writer } = setUp()
  t.deepEqual(await Promise.all([1, 2, 3].map(() => writer.run(count('n')))), [1, 2, 3])
  t.is(rows.valueOf('n'), '3')
  t.is(rows.commits, 1)
})

test('writer: what a rule names is read at once, and what it did not name after that', async (t) => {
  const { rows, writer } = setUp()
  await writer.run(put('a', 'b'))
  rows.reads = 0
  const follow = (draft: Draft) => draft.get('facts', draft.get('facts', 'a')!.value)
  t.is(await writer.run(follow, [placeOf('facts', 'a'), placeOf('facts', 'b')]), null)
  t.is(rows.reads, 1)
  t.is(await writer.run(follow), null)
  t.is(rows.reads, 4)
  t.is(rows.commits, 1, 'nothing was put')
})

test('writer: a write is repeated on what another process has written meanwhile', async (t) => {
  const { rows, writer } = setUp()
  await writer.run(count('n'))
  const write = (at: number) => () => rows.put({ space: 'facts', key: 'n', value: '7', createdAt: 1, at })
  rows.meanwhile = [write(50)]
  t.is(await writer.run(count('n')), 8)
  rows.meanwhile = Array.from({ length: 1000 }, (_, n) => write(100 + n))
  await t.throwsAsync(writer.run(count('n')), { message: /changes faster than it can be written/ })
})

test('writer: rows of an earlier moment decide nothing but a commit that finds them true', async (t) => {
  const { rows, writer } = setUp()
  await writer.run(count('n'))
  const [place, see] = [placeOf('facts', 'n'), (draft: Draft) => draft.get('facts', 'n')?.value]
  const moment = { ...(await rows.get([place])), isEarlier: true }
  rows.earlier = moment
  rows.reads = 0
  t.is(await writer.run(count('n'), [place]), 2)
  t.is(rows.reads, 0, 'they still held')
  rows.earlier = moment
  t.is(await writer.run(see, [place]), '2')
  const throwAt1 = (draft: Draft) => {
    if (see(draft) === '1') throw new Error('1')
    return see(draft)
  }
  t.is(await writer.run(throwAt1, [place]), '2')
  t.is(await writer.run(count('n'), [place]), 3)
})

test('writer: a rule that throws puts nothing, and does not fail the others', async (t) => {
  const { rows, writer } = setUp()
  const fail = (draft: Draft) => {
    draft.put('facts', 'half', 'x')
    throw new Error('no')
  }
  const all = await Promise.allSettled([put('a', '1'), fail, put('b', '2')].map((rule) => writer.run(rule)))
  t.deepEqual(
    all.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.deepEqual([...rows.rows.keys()], ['facts/a', 'facts/b'])
})

test('writer: when a batch is refused, each write is tried alone; where its outcome is not known, none is', async (t) => {
  const { rows, writer } = setUp()
  rows.refused = 'too much'
  const outcomes = async () => {
    const writes = ['1', 'too much', '3'].map((value, n) => writer.run(put(`${n}`, value)))
    return (await Promise.allSettled(writes)).map(({ status }) => status)
  }
  t.deepEqual(await outcomes(), ['fulfilled', 'rejected', 'fulfilled'])
  t.is(rows.commits, 2)
  rows.isAway = true
  t.deepEqual(await outcomes(), ['rejected', 'rejected', 'rejected'])
})

test('writer: a row that goes and comes back is a new one, of a later time', async (t) => {
  const { rows, writer } = setUp()
  await writer.run(put('a', '1'))
  const before = rows.rows.get('facts/a')!
  await writer.run((draft) => {
    draft.remove('facts', 'a')
    draft.remove('facts', 'unknown')
    draft.put('facts', 'a', '2')
  })
  const after = rows.rows.get('facts/a')!
  t.true(after.createdAt > before.createdAt && after.at === after.createdAt)
  await writer.run((draft) => draft.remove('facts', 'a'))
  t.is(rows.rows.size, 0)
})
