import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ExecutionContext } from 'ava'
import test from 'ava'
import { Client } from 'undici'
import { recoverAddress } from '../../src/registry/signature/recover-address.ts'
import { createRecoverPool, MAX_WAITING } from '../../src/registry/signature/recover-pool.ts'
import type { Signature } from '../../src/registry/signature/verify-claim.ts'
import { WorkerPool, type WorkerPoolOptions } from '../../src/registry/worker-pool.ts'
import { startProcess } from '../e2e/service-process.ts'
import { limitOpenFiles } from '../helpers/process-limits.ts'
import { temporaryFolder, temporaryStore } from '../helpers/run-cli.ts'
import { ALICE, publishBody } from '../helpers/seller.ts'

const TASKS = new URL('../../src/registry/worker-pool.ts', import.meta.url).href

/** A worker that adds one, throws at 13, and ends its thread at 99. */
const WORKER = `
import { serveTasks } from '${TASKS}'
serveTasks((n) => {
  if (n === 13) throw new RangeError('thirteen')
  if (n === 99) process.exit(1)
  return n + 1
})`

function openPool(t: ExecutionContext, options: Partial<WorkerPoolOptions> = {}) {
  const path = join(temporaryFolder(t), 'worker.mjs')
  const faults: unknown[] = []
  const pool = new WorkerPool<number, number>({
    file: pathToFileURL(path),
    threads: 2,
    onFault: (cause) => faults.push(cause),
    ...options,
  })
  t.teardown(() => pool.close())
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

async function signatureOf(message: string): Promise<Signature> {
  const hex = (await ALICE.signMessage({ message })).slice(2)
  return {
    r: BigInt(`0x${hex.slice(0, 64)}`),
    s: BigInt(`0x${hex.slice(64, 128)}`),
    yParity: hex.endsWith('1b') ? 0 : 1,
  }
}

test('recover pool: threads recover the same addresses as recoverAddress', async (t) => {
  const { recover, close } = createRecoverPool({ threads: 1 })
  t.teardown(close)
  const signature = await signatureOf('update_listing:L1:1767225600')
  t.is(await recover('update_listing:L1:1767225600', signature), ALICE.address.toLowerCase())
  for (const [message, odd] of [
    ['another message', signature],
    ['é🚀', signature],
    ['update_listing:L1:1767225600', { ...signature, yParity: 1 - signature.yParity }],
    ['update_listing:L1:1767225600', { ...signature, r: 5n }],
  ] as [string, Signature][]) {
    t.is(await recover(message, odd), await recoverAddress(message, odd))
  }
})

test("recover pool: a task beyond the queue's limit is refused at once", async (t) => {
  const { recover, close } = createRecoverPool({ threads: 1 })
  const signature = await signatureOf('m')
  const waiting = Array.from({ length: MAX_WAITING + 10 }, () => recover('m', signature))
  waiting.map((one) => one.catch(() => {}))
  const error = await t.throwsAsync(waiting.at(-1)!)
  t.like(error, { code: 'unavailable', headers: { 'Retry-After': '1' } })
  await close()
})

test('without file descriptors for a thread a publish is 503, then succeeds', async (t) => {
  const service = await startProcess(temporaryStore(t))
  t.teardown(() => service.end('SIGKILL'))
  const client = new Client(service.url, { pipelining: 1 })
  t.teardown(() => client.close())
  const get = async (path: string) => {
    const reply = await client.request({ method: 'GET', path })
    await reply.body.dump()
    return reply.statusCode
  }
  const signed = JSON.stringify(await publishBody(ALICE, { listing_id: 'one' }))
  const publish = (body = signed) =>
    client.request({
      method: 'POST',
      path: '/listings',
      headers: { 'content-type': 'application/json' },
      body,
    })

  t.is(await get('/listings'), 200) // the one connection of this test is open

  await limitOpenFiles(service.pid, firstFreeDescriptor(service.pid))
  const withoutDecoder = await publish()
  t.is(withoutDecoder.statusCode, 503)
  t.like(await withoutDecoder.body.json(), { detail: 'The body could not be read' })

  await limitOpenFiles(service.pid, 1024)
  const invalid = await publish('{}')
  t.is(invalid.statusCode, 400, await invalid.body.text())

  await limitOpenFiles(service.pid, firstFreeDescriptor(service.pid))
  const logged = service.logged('worker unavailable')
  const refused = await publish()
  t.is(refused.statusCode, 503)
  t.is(refused.headers['retry-after'], '1')
  t.like(await refused.body.json(), { type: 'urn:entrepot:problem:unavailable' })
  const [line] = await logged
  t.regex(String(line?.reason), /EMFILE|too many open files/i)
  t.is(await get('/listings'), 200)

  await limitOpenFiles(service.pid, 1024)
  const taken = await publish()
  t.is(taken.statusCode, 201)
  await taken.body.dump()
  t.is(await service.end('SIGTERM'), 0)
})

/** With this limit the process keeps what it has open, and opens nothing more. */
function firstFreeDescriptor(pid: number): number {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number))
  let free = 0
  while (open.has(free)) free += 1
  return free
}
