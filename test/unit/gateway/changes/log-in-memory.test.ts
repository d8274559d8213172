import test from 'ava'
import fc from 'fast-check'
import { type FeedEntry, GONE } from '../../../../src/domain/feed-entry.ts'
import { LogInMemory } from '../../../../src/gateway/changes/log-in-memory.ts'
import type { FeedRead } from '../../../../src/store/feed.ts'
import { runs } from '../../../helpers/runs.ts'

/** A log as a store keeps it, and what its sources have. */
class Model {
  readonly entries: FeedEntry[] = []
  readonly content = new Map<string, string>()
  end = 0
  droppedTo = 0

  change(key: string, state: string): void {
    const before = this.entries.findIndex((entry) => entry.key === key)
    if (before !== -1) this.entries.splice(before, 1)
    this.entries.push({ ...ENTRY, key, listingId: key, state, position: ++this.end })
    if (state === GONE) this.content.delete(key)
    else this.content.set(key, state)
  }

  drop(count: number): void {
    for (const { position } of this.entries.splice(0, count)) this.droppedTo = position
  }

  read(after: number, limit: number): FeedRead {
    const entries = this.entries.filter(({ position }) => position > after).slice(0, limit)
    return { incarnation: 'one', entries, end: this.end, droppedTo: this.droppedTo, followed: null }
  }
}

const ENTRY = { source: 'local', publisher: null, at: 0 }

type Act = { change: string; state: string } | { drop: number } | { catchUp: number } | { follow: number }

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ change: letters(8), state: fc.constantFrom('1', '2', GONE) }) },
  { weight: 1, arbitrary: fc.record({ drop: fc.nat(4) }) },
  { weight: 3, arbitrary: fc.record({ catchUp: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 3, arbitrary: fc.record({ follow: fc.integer({ min: 1, max: 3 }) }) },
)

function letters(count: number): fc.Arbitrary<string> {
  return fc.constantFrom(...'abcdefghijklmnop'.slice(0, count))
}

test('log in memory: a follower that has caught up has what the sources have, from any position that is not gone', (t) => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 120 }), (acts) => {
      const model = new Model()
      const log = new LogInMemory()
      log.begin('one')
      let position = 0
      let map = new Map<string, string>()
      const catchUp = (limit: number) => {
        for (;;) {
          const read = model.read(log.end, limit)
          log.add(read)
          if (read.entries.length < limit) return
        }
      }
      const follow = (limit: number): boolean => {
        if (!log.reachesBack(position)) {
          // 410: a new reading, at the end of the log.
          map = new Map(model.content)
          catchUp(100)
          position = log.end
          return false
        }
        const entries = log.after(position).take(limit).toArray()
        for (const { key, position: next } of entries) {
          const state = model.content.get(key)
          if (state === undefined) map.delete(key)
          else map.set(key, state)
          position = next
        }
        return entries.length === limit
      }
      for (const one of acts) {
        if ('change' in one) model.change(one.change, one.state)
        else if ('drop' in one) model.drop(one.drop)
        else if ('catchUp' in one) catchUp(one.catchUp)
        else follow(one.follow)
      }
      catchUp(3)
      while (follow(2)) {}
      t.deepEqual([...map].sort(), [...model.content].sort())
    }),
    { numRuns: runs(300) },
  )
})

test('log in memory: superseded entries do not stay in memory, and neither do dropped ones', (t) => {
  const model = new Model()
  const log = new LogInMemory()
  log.begin('one')
  for (let n = 1; n <= 5000; n++) {
    model.change('abc'[n % 3]!, String(n))
    log.add(model.read(log.end, 10))
  }
  t.is(log.size, 3)
  t.is(log.latest('local', 'a')?.state, '4998')
  t.deepEqual(
    [...log.after(4998)].map(({ key }) => key),
    ['b', 'c'],
  )
  model.drop(2)
  log.add(model.read(log.end, 10))
  t.is(log.size, 1)
  t.false(log.reachesBack(4998))
  t.true(log.reachesBack(4999))
  t.false(log.reachesBack(5001))
})
