import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import test, { type ExecutionContext } from 'ava'
import { WorkerPool, type WorkerPoolOptions } from '../../src/registry/worker-pool.ts'

const TASKS = new URL('../../src/registry/worker-task.ts', import.meta.url).href

/** A worker that adds one, throws at 13, and ends its thread at 99. */
const WORKER = `
import { serveTasks } from '${TASKS}'
serveTasks((n) => {
  if (n === 13) throw new RangeError('thirteen')
  if (n === 99) process.exit(1)
  return n + 1
})`

function openPool(t: ExecutionContext, options: Partial<WorkerPoolOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'entrepot-worker-'))
  const path = join(folder, 'worker.mjs')
  const faults: unknown[] = []
  const pool = new WorkerPool<number, number>({
    file: pathToFileURL(path),
    threads: 2,
    onFault: (cause) => faults.push(cause),
    ...options,
  })
  t.teardown(async () => {
    await pool.close()
    rmSync(folder, { recursive: true })
  })
  return { pool, faults, writeWorker: () => writeFileSync(path, WORKER) }
}

const UNAVAILABLE = { name: 'EntrepotError', code: 'unavailable' }

test('worker pool: more tasks than threads all run, and an error rejects its own task', async (t) => {
  const { pool, faults, writeWorker } = openPool(t)
  writeWorker()
  const results = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => pool.run(n)))
  for (const [n, result] of results.entries()) {
    if (n === 13) t.like(result, { status: 'rejected', reason: { name: 'RangeError', message: 'thirteen' } })
    else t.deepEqual(result, { status: 'fulfilled', value: n + 1 })
  }
  t.deepEqual(faults, [])
})

test('worker pool: without a thread queued tasks are unavailable, the next starts one', async (t) => {
  const { pool, faults, writeWorker } = openPool(t)
  const waiting = await Promise.allSettled([1, 2, 3].map((n) => pool.run(n)))
  for (const result of waiting) t.like(result, { status: 'rejected', reason: UNAVAILABLE })
  t.is(faults.length, 2, 'one for each thread')
  t.is(pool.waiting, 0)
  writeWorker()
  t.is(await pool.run(1), 2)
})

test('worker pool: a thread that the system refuses is handled like one that fails', async (t) => {
  const faults: unknown[] = []
  const options = {
    file: new URL('https://nowhere.example/worker.mjs'),
    threads: 2,
    onFault: (cause: unknown) => faults.push(cause),
  }
  const pool = new WorkerPool(options)
  t.teardown(() => pool.close())
  await t.throwsAsync(pool.run(1), UNAVAILABLE)
  t.is(faults.length, 1)
  options.file = new URL('../../src/registry/signature/recover-worker.ts', import.meta.url)
  const signature = { r: 5n, s: 5n, yParity: 0 }
  t.is(await pool.run({ message: 'm', signature }), null, 'a thread has run the task')
})

test('worker pool: a thread that breaks off fails only its own task', async (t) => {
  const { pool, faults, writeWorker } = openPool(t)
  writeWorker()
  t.deepEqual(await Promise.all([pool.run(0), pool.run(0)]), [1, 1])
  const results = await Promise.allSettled([99, 1, 2, 3].map((n) => pool.run(n)))
  t.like(results[0], { status: 'rejected', reason: UNAVAILABLE })
  t.deepEqual(
    results.slice(1).map((result) => result.status === 'fulfilled' && result.value),
    [2, 3, 4],
  )
  t.is(faults.length, 1)
  t.is(await pool.run(5), 6)
})

test('worker pool: a closed pool rejects queued and new tasks', async (t) => {
  const { pool, faults, writeWorker } = openPool(t)
  writeWorker()
  const waiting = [1, 2, 3].map((n) => pool.run(n))
  const settled = Promise.allSettled(waiting)
  await pool.close()
  for (const result of await settled) t.like(result, { status: 'rejected', reason: UNAVAILABLE })
  await t.throwsAsync(pool.run(4), UNAVAILABLE)
  t.deepEqual(faults, [])
})
