import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import test from 'ava'
import { NameResolver } from '../../../src/upstream/http/lookup.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'

type Answer = (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void

/** A resolver over a system that answers when the test does. */
function start() {
  const clock = manualClock()
  const running = new Map<string, Answer>()
  const asked: string[] = []
  const system = ((hostname: string, _options: object, answer: Answer) => {
    asked.push(hostname)
    running.set(hostname, answer)
  }) as LookupFunction
  const { lookup } = new NameResolver(clock, system)
  const resolve = (hostname: string, family = 0): Promise<string> =>
    new Promise((resolve) => {
      lookup(hostname, { family, all: true }, (error, found) =>
        resolve(error?.code ?? (found as LookupAddress[]).map(({ address }) => address).join(' ')),
      )
    })
  const answer = (hostname: string, result: string[] | string): void => {
    const reply = running.get(hostname)
    running.delete(hostname)
    if (typeof result === 'string') reply?.(Object.assign(new Error(result), { code: result }), [])
    else
      reply?.(
        null,
        result.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
  }
  return { clock, running, asked, resolve, answer }
}

test('connections to one name share a lookup, and its result for ten seconds', async (t) => {
  const { clock, asked, resolve, answer } = start()
  const results = [resolve('a.test'), resolve('a.test'), resolve('a.test', 6)]
  answer('a.test', ['192.0.2.1', '2001:db8::1'])
  t.deepEqual(await Promise.all(results), ['192.0.2.1 2001:db8::1', '192.0.2.1 2001:db8::1', '2001:db8::1'])
  clock.advance(9_999)
  t.is(await resolve('a.test', 4), '192.0.2.1')
  t.is(asked.length, 1)
  clock.advance(1)
  const next = resolve('a.test')
  answer('a.test', ['192.0.2.2'])
  t.is(await next, '192.0.2.2')
})

test('a name that is not found is looked up again each time', async (t) => {
  const { asked, resolve, answer } = start()
  for (let n = 1; n <= 2; n++) {
    const result = resolve('a.test')
    answer('a.test', 'ENOTFOUND')
    t.is(await result, 'ENOTFOUND')
    t.is(asked.length, n)
  }
})

test('the last addresses stay in use while the name server is silent or fails', async (t) => {
  const { clock, resolve, answer } = start()
  const first = resolve('a.test')
  answer('a.test', ['192.0.2.1'])
  await first
  clock.advance(60_000)
  const impatient = resolve('a.test')
  clock.advance(200)
  t.is(await impatient, '192.0.2.1')
  answer('a.test', 'EAI_AGAIN')
  const again = resolve('a.test')
  answer('a.test', 'EAI_AGAIN')
  t.is(await again, '192.0.2.1')
  const gone = resolve('a.test')
  answer('a.test', 'ENOTFOUND')
  t.is(await gone, 'ENOTFOUND')
})

test('hung names are looked up one at a time, and no other name waits', async (t) => {
  const { clock, running, resolve, answer } = start()
  const silent = ['x.test', 'y.test', 'z.test']
  const first = silent.map((name) => resolve(name))
  clock.advance(1000)
  for (const name of silent) answer(name, 'EAI_AGAIN')
  t.deepEqual(await Promise.all(first), ['EAI_AGAIN', 'EAI_AGAIN', 'EAI_AGAIN'])

  const later = silent.map((name) => resolve(name))
  const good = resolve('good.test')
  t.deepEqual([...running.keys()], ['x.test', 'good.test'])
  answer('good.test', ['192.0.2.1'])
  t.is(await good, '192.0.2.1')
  for (const name of silent) {
    t.deepEqual([...running.keys()], [name])
    answer(name, ['192.0.2.9'])
  }
  t.deepEqual(await Promise.all(later), ['192.0.2.9', '192.0.2.9', '192.0.2.9'])
})

test('an upstream whose name server is silent takes no other upstream with it', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const { port } = new URL(fake.url)
  const lookup = ((hostname: string, _options: object, answer: Answer) => {
    if (hostname === 'good.test') answer(null, [{ address: '127.0.0.1', family: 4 }])
  }) as LookupFunction
  const settings = 'connect_timeout_ms = 200\ntimeout_ms = 300'
  const { get } = await startGateway(
    t,
    [
      { name: 'bad', url: `http://bad.test:${port}`, settings },
      { name: 'good', url: `http://good.test:${port}`, settings: 'timeout_ms = 10000' },
    ],
    { lookup },
  )
  for (let round = 0; round < 3; round++) {
    const { sources } = (await get('/listings', { 'Cache-Control': 'no-cache' })).json() as Reply
    t.deepEqual(
      sources.map(({ registry, state }) => [registry, state]),
      [
        ['local', 'loaded'],
        ['bad', 'unavailable'],
        ['good', 'loaded'],
      ],
    )
  }
})

type Reply = { sources: { registry: string; state: string }[] }
