import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { Client } from 'undici'
import { startProcess } from '../e2e/service-process.ts'
import { ALICE, publishBody } from '../helpers/seller.ts'

test('without file descriptors for a thread a publish is 503, then succeeds', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'entrepot-worker-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const service = await startProcess(`sqlite:${join(folder, 'entrepot.db')}`)
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
  const allow = (descriptors: number) =>
    execFileSync('prlimit', ['--pid', String(service.pid), `--nofile=${descriptors}:`])

  t.is(await get('/listings'), 200) // the one connection of this test is open

  allow(firstFreeDescriptor(service.pid))
  const withoutDecoder = await publish()
  t.is(withoutDecoder.statusCode, 503)
  t.like(await withoutDecoder.body.json(), { detail: 'The body could not be read' })

  allow(1024)
  const invalid = await publish('{}')
  t.is(invalid.statusCode, 400, await invalid.body.text())

  allow(firstFreeDescriptor(service.pid))
  const logged = service.logged('worker unavailable')
  const refused = await publish()
  t.is(refused.statusCode, 503)
  t.is(refused.headers['retry-after'], '1')
  t.like(await refused.body.json(), { type: 'urn:entrepot:problem:unavailable' })
  const [line] = await logged
  t.regex(String(line?.reason), /EMFILE|too many open files/i)
  t.is(await get('/listings'), 200)

  allow(1024)
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
