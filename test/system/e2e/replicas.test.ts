import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { startRedis } from '../../helpers/redis.ts'
import { ADMIN, type Reply, send } from '../../helpers/registry.ts'
import { postJson, publish, publishBody, remove, unixNow, update } from '../../helpers/seller.ts'
import { startProcess } from '../../helpers/service-process.ts'
import { beforePoll } from './before-poll.ts'

const READER = { Authorization: 'Bearer reader' }
const ENVIRONMENT = {
  REGISTRY_ADMIN_API_KEY: 'admin',
  REGISTRY_BOOTSTRAP_API_KEY: 'reader',
  REGISTRY_REQUIRE_READ_API_KEY: 'true',
}

/** Two processes on one store. */
async function startPair(storeUrl: string): Promise<{ urls: [string, string]; end: () => Promise<void> }> {
  const [a, b] = await Promise.all([startProcess(storeUrl, ENVIRONMENT), startProcess(storeUrl, ENVIRONMENT)])
  return {
    urls: [a.url, b.url],
    end: async () => {
      await Promise.all([a.end('SIGTERM'), b.end('SIGTERM')])
    },
  }
}

const redis = await startRedis()
const folder = mkdtempSync(join(tmpdir(), 'entrepot-replicas-'))
const pairs = {
  Redis: await startPair(redis.url),
  'SQLite file': await startPair(`sqlite:${join(folder, 'entrepot.db')}`),
}
test.after.always(async () => {
  await Promise.all(Object.values(pairs).map(({ end }) => end()))
  await redis.dispose()
  rmSync(folder, { recursive: true })
})

const newSeller = () => privateKeyToAccount(generatePrivateKey())
const newId = (): string => crypto.randomUUID()

const read = (url: string, id: string, headers: Record<string, string> = READER): Promise<Reply> =>
  send(`${url}/listings/${id}`, { headers })

/** Asserts that a GET gets this answer without a poll. */
const soon = async (t: ExecutionContext, ask: () => Promise<Reply>, holds: (reply: Reply) => boolean) =>
  t.true(await beforePoll(async () => holds(await ask())))

for (const [name, { urls }] of Object.entries(pairs)) {
  const [a, b] = urls

  test(`replicas on ${name}: a write is readable on the other without a poll`, async (t) => {
    const seller = newSeller()
    for (const [here, there] of [
      [a, b],
      [b, a],
    ] as const) {
      const id = newId()
      t.is(
        (await publish(here, seller, { listing_id: id, storefront_url: 'https://one.example/' })).status,
        201,
      )
      t.is((await read(here, id)).status, 200, 'here at once')
      await soon(
        t,
        () => read(there, id),
        ({ status }) => status === 200,
      )
      t.is((await update(there, id, { status: 'closed' }, { seller })).status, 200)
      await soon(
        t,
        () => read(here, id),
        ({ text }) => text.includes('"status":"closed"'),
      )
      t.is((await remove(here, id, { seller })).status, 204)
      await soon(
        t,
        () => read(there, id),
        ({ status }) => status === 404,
      )
    }
  })

  test(`replicas on ${name}: a key works, and is revoked, on both without a poll`, async (t) => {
    const minted = await postJson(`${a}/admin/api-keys`, '{"name":"short-lived"}', ADMIN)
    t.is(minted.status, 201)
    const { key, id } = minted.json()
    const headers = { Authorization: `Bearer ${key}` }
    const list = (url: string) => () => send(`${url}/listings`, { headers })
    for (const url of urls) await soon(t, list(url), ({ status }) => status === 200)
    t.is((await send(`${b}/admin/api-keys/${id}`, { method: 'DELETE', headers: ADMIN })).status, 204)
    t.is((await list(b)()).status, 401, 'where it was revoked, at once')
    await soon(t, list(a), ({ status }) => status === 401)
  })

  test(`replicas on ${name}: a signature used on one is used on the other`, async (t) => {
    const seller = newSeller()
    const id = newId()
    const first = await publishBody(seller, { listing_id: id, max_duration_seconds: 1 })
    const body = JSON.stringify(first)
    const taken = await postJson(`${a}/listings`, body)
    t.is(taken.status, 201)
    const other = await postJson(`${b}/listings`, JSON.stringify({ ...first, max_duration_seconds: 2 }))
    t.is(other.status, 409)
    t.is(other.headers.get('content-type'), 'application/problem+json; charset=utf-8')
    const again = await postJson(`${b}/listings`, body)
    t.is(again.status, 201)
    t.deepEqual(again.json(), taken.json(), 'the very same request is answered as the first time')

    const timestamp = unixNow()
    const removeAt = (url: string) => remove(url, id, { seller, timestamp })
    t.is((await removeAt(a)).status, 204)
    t.is((await publish(b, seller, { listing_id: id }, { timestamp: timestamp + 5 })).status, 201)
    t.is((await removeAt(b)).status, 409)
    t.is((await read(b, id)).status, 200, 'a used delete takes nothing that came after it')
  })
}
