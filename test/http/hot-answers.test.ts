import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { ANONYMOUS } from '../../src/domain/api-key.ts'
import { HotAnswers } from '../../src/http/hot-answers.ts'
import { startRegistry } from '../helpers/registry.ts'
import { ALICE, postJson, publish, unixNow } from '../helpers/seller.ts'

const GATED = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'admin' }
const ADMIN = { Authorization: 'Bearer admin' }

test('the same question gets the same bytes, until something changes', async (t) => {
  const { url, get } = await startRegistry(t)
  await publish(url, ALICE, { listing_id: 'one' })
  const first = await get('/listings?limit=5')
  const again = await get('/listings?limit=5')
  t.is(again.text, first.text)
  t.is(again.headers.get('content-type'), first.headers.get('content-type'))

  await publish(url, ALICE, { listing_id: 'two' })
  t.is((await get('/listings?limit=5')).json().count, 2, 'a write is read at once')
  await publish(
    url,
    ALICE,
    { listing_id: 'two', storefront_url: 'https://new.example/' },
    { timestamp: unixNow() - 5 },
  )
  t.true((await get('/listings?limit=5')).text.includes('https://new.example/'))
})

test('a kept answer is given only to who passes the gate at that moment', async (t) => {
  const { url, get } = await startRegistry(t, { environment: GATED })
  const { key, id } = (await postJson(`${url}/admin/api-keys`, '{"name":"buyer"}', ADMIN)).json()
  const bearer = { Authorization: `Bearer ${key}` }
  t.is((await get('/listings', bearer)).status, 200)
  t.is((await get('/listings', bearer)).status, 200)
  t.is((await get('/listings')).status, 401)
  await fetch(`${url}/admin/api-keys/${id}`, { method: 'DELETE', headers: ADMIN })
  t.is((await get('/listings', bearer)).status, 401)
})

test('a condition on the request is still looked at', async (t) => {
  const { get } = await startRegistry(t)
  await get('/listings')
  t.is((await get('/listings', { 'If-Match': '"0"' })).status, 412)
})

/** Kept answers in front of an application that answers when it is told to, with how often it has been asked. */
const startHeld = async (t: ExecutionContext) => {
  const hot = new HotAnswers()
  const asked: ServerResponse[] = []
  let version = 0
  const fallback: RequestListener = (request, response) => {
    asked.push(response)
    const made = version
    response.once('release', () => {
      const body = Buffer.from(String(made))
      hot.keep(request, ANONYMOUS, { headers: {}, body, isCurrent: () => version === made })
      response.end(body)
    })
  }
  const authorize = () => ANONYMOUS
  const server = createServer(
    hot.listener({ authorize, admit: () => null, counter: () => () => {} }, fallback),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/listings`
  const ask = async (signal?: AbortSignal): Promise<string> =>
    (await fetch(url, { signal: signal ?? null })).text()
  const isAsked = async (times: number): Promise<void> => {
    while (asked.length < times) await once(server, 'request')
  }
  const arrived = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n++) await once(server, 'request')
  }
  const change = (): void => {
    version++
  }
  return { ask, asked, isAsked, arrived, change }
}

test('of all who ask for what has changed one has it made anew, and all are given that', async (t) => {
  const { ask, asked, isAsked, arrived, change } = await startHeld(t)
  const first = ask()
  await isAsked(1)
  asked[0]!.emit('release')
  t.is(await first, '0')
  change()
  const requests = arrived(8)
  const answers = Array.from({ length: 8 }, () => ask())
  await requests
  t.is(asked.length, 2)
  asked[1]!.emit('release')
  t.deepEqual(await Promise.all(answers), Array(8).fill('1'))
  t.is(asked.length, 2)
})

test('who waits for an answer that somebody else no longer wants has it made for her', async (t) => {
  const { ask, asked, isAsked, arrived, change } = await startHeld(t)
  const first = ask()
  await isAsked(1)
  asked[0]!.emit('release')
  await first
  change()
  const leaving = new AbortController()
  const left = ask(leaving.signal)
  await isAsked(2)
  const request = arrived(1)
  const waiting = ask()
  await request
  leaving.abort()
  await t.throwsAsync(left)
  while (asked.length < 3) await new Promise((resolve) => setImmediate(resolve))
  asked[2]!.emit('release')
  t.is(await waiting, '1')
})
