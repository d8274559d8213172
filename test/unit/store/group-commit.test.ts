import test from 'ava'
import { GroupCommit, type Transaction } from '../../../src/store/sqlite/group-commit.ts'

/** A transaction over a list: what is pushed counts once it is committed. */
class ListTransaction implements Transaction {
  committed: string[] = []
  commits = 0
  failures: string[] = []
  /** A `begin` that fails after the transaction was opened. */
  halfway: string[] = []
  #pending: string[] | null = null

  push(value: string): string {
    this.#pending!.push(value)
    return value
  }

  begin(): void {
    const failure = this.failures.shift()
    if (failure !== undefined) throw new Error(failure)
    if (this.#pending !== null) throw new Error('within a transaction')
    this.#pending = []
    const later = this.halfway.shift()
    if (later !== undefined) throw new Error(later)
  }

  commit(): void {
    if (this.#pending!.includes('unstorable')) throw new Error('commit failed')
    this.committed.push(...this.#pending!)
    this.#pending = null
    this.commits++
  }

  rollback(): void {
    this.#pending = null
  }

  retryAfter(failure: unknown, tries: number): number | null {
    return failure instanceof Error && failure.message === 'busy' && tries < 3 ? 1 : null
  }
}

function setUp() {
  const transaction = new ListTransaction()
  return { transaction, group: new GroupCommit(transaction) }
}

test('group commit: mutations of one turn share a transaction and settle in order', async (t) => {
  const { transaction, group } = setUp()
  const results = await Promise.all(['a', 'b', 'c'].map((it) => group.run(() => transaction.push(it))))
  t.deepEqual(results, ['a', 'b', 'c'])
  t.deepEqual(transaction.committed, ['a', 'b', 'c'])
  t.is(transaction.commits, 1)
})

test('group commit: a failed mutation does not fail the others', async (t) => {
  const { transaction, group } = setUp()
  const fail = () => {
    transaction.push('half')
    throw new Error('no')
  }
  const outcomes = await Promise.allSettled([
    group.run(() => transaction.push('a')),
    group.run(fail),
    group.run(() => transaction.push('unstorable')),
    group.run(() => transaction.push('b')),
  ])
  t.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  )
  t.deepEqual(transaction.committed, ['a', 'b'])
})

test('group commit: a busy transaction is retried in order, a bounded number of times', async (t) => {
  const { transaction, group } = setUp()
  transaction.failures = ['busy', 'busy']
  await Promise.all([group.run(() => transaction.push('a')), group.run(() => transaction.push('b'))])
  t.deepEqual(transaction.committed, ['a', 'b'])

  transaction.failures = ['busy', 'busy', 'busy']
  await t.throwsAsync(
    group.run(() => transaction.push('c')),
    { message: 'busy' },
  )
  transaction.failures = ['broken']
  await t.throwsAsync(
    group.run(() => transaction.push('d')),
    { message: 'broken' },
  )
  await group.run(() => transaction.push('e'))
  t.deepEqual(transaction.committed, ['a', 'b', 'e'])
})

test('group commit: a begin that fails halfway leaves no transaction open', async (t) => {
  const { transaction, group } = setUp()
  transaction.halfway = ['cannot read the end of the changelog']
  await t.throwsAsync(
    group.run(() => transaction.push('a')),
    { message: 'cannot read the end of the changelog' },
  )
  await group.run(() => transaction.push('b'))
  t.deepEqual(transaction.committed, ['b'])
})

test('group commit: drained waits for all mutations requested before it', async (t) => {
  const { transaction, group } = setUp()
  await group.drained()
  for (let n = 0; n < 1000; n++) void group.run(() => transaction.push(`${n}`))
  await group.drained()
  t.is(transaction.committed.length, 1000)
  t.true(transaction.commits > 1)
})
