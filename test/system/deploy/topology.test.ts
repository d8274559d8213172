import test from 'ava'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { eventually } from '../../helpers/eventually.ts'
import { send } from '../../helpers/registry.ts'
import { mintKey, publish, publishBody } from '../../helpers/seller.ts'
import { beforePoll } from '../e2e/before-poll.ts'
import { type RequestOutcome, SteadyLoad } from './steady-load.ts'
import { type Replica, startTopology, type Topology } from './topology.ts'

const CLIENTS = 8
/** About 75 requests a second, which leaves processor time for the service. */
const PAUSE_MS = 100

const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` })
const newSeller = () => privateKeyToAccount(generatePrivateKey())

const isGood = ({ status, text }: RequestOutcome): boolean =>
  status === 201 || (status === 200 && text.includes('"complete":true'))

/** Number of requests that a replica has answered, without health checks. */
async function answeredBy({ secret }: Topology, replica: Replica): Promise<number> {
  const { text } = await send(`${replica.url}/metrics`, { headers: bearer(secret('metrics_key')) })
  const counts = [...text.matchAll(/^entrepot_requests_total\{route="\/listings".*\} (\d+)$/gm)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

async function mintKeys({ url, replicas, secret }: Topology, count: number): Promise<string[]> {
  const keys = await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const body = { name: `client ${n}`, scope: 'write' }
      return (await mintKey(url, body, secret('admin_key'))).key
    }),
  )
  const opens = async (): Promise<boolean> => {
    const pending = replicas.flatMap((one) =>
      keys.map((key) => send(`${one.url}/listings`, { headers: bearer(key) })),
    )
    return (await Promise.all(pending)).every(({ status }) => status === 200)
  }
  if (!(await beforePoll(opens))) throw new Error('keys that were minted do not work')
  return keys
}

test('topology: a rolling restart costs no request, a killed replica only in-flight ones', async (t) => {
  t.timeout(600_000)
  const topology = await startTopology(t)
  const { url, replicas, secret, registries } = topology
  const [first, second] = replicas
  for (const [name, registry] of Object.entries(registries))
    for (let n = 0; n < 5; n++)
      await publish(
        registry.url,
        newSeller(),
        { listing_id: `${name}-${n}`, offer_resource: { gpu_model: n % 2 === 0 ? 'H200' : 'A100' } },
        { headers: name === 'curated' ? bearer(secret('curated_key')) : {} },
      )
  t.is((await send(`${url}/listings`)).status, 401, 'both gates are on')
  const keys = await mintKeys(topology, CLIENTS)

  // A publish through one replica is readable through the other.
  const reader = { headers: bearer(keys[0]!) }
  const seller = newSeller()
  for (const [here, there] of [replicas, replicas.toReversed()] as [Replica, Replica][]) {
    const id = `by-${new URL(here.url).port}`
    t.is((await publish(here.url, seller, { listing_id: id }, reader)).status, 201)
    t.true(await beforePoll(async () => (await send(`${there.url}/listings/${id}`, reader)).status === 200))
  }

  const sellers = await Promise.all(keys.map(() => publishBody(newSeller(), {})))
  const load = new SteadyLoad(url, CLIENTS, PAUSE_MS, (client, turn) => {
    const headers = bearer(keys[client]!)
    switch (turn % 10) {
      case 0: {
        const body = JSON.stringify({ ...sellers[client], listing_id: `load-${client}-${turn}` })
        return {
          method: 'POST',
          path: '/listings',
          headers: { ...headers, 'Content-Type': 'application/json' },
          body,
        }
      }
      case 1:
        return { method: 'GET', path: '/listings', headers: { ...headers, Accept: 'application/x-ndjson' } }
      case 2:
        return { method: 'GET', path: '/listings?gpu_model=H200', headers }
      default:
        return { method: 'GET', path: `/listings?limit=${20 + (turn % 50)}`, headers }
    }
  })
  t.teardown(() => load.stop())
  await load.goOn(100)
  const [byFirst, bySecond] = [await answeredBy(topology, first), await answeredBy(topology, second)]
  t.true(Math.min(byFirst, bySecond) > 25, `both work: ${byFirst} and ${bySecond}`)

  const killedAt = performance.now()
  await first.end('SIGKILL')
  await load.goOn(100)
  const lost = load.outcomes.filter((outcome) => !isGood(outcome))
  t.deepEqual(
    lost.filter(({ startedAt }) => startedAt > killedAt),
    [],
    'later requests are answered by the other',
  )
  t.true(lost.length <= CLIENTS, 'no more than were under way')

  await first.start()
  await eventually('answering again', async () => {
    await load.goOn(10)
    return (await answeredBy(topology, first)) >= 20
  })

  for (const replica of [second, first]) {
    t.is(await replica.end('SIGTERM'), 0)
    await load.goOn(20)
    await replica.start()
    await eventually('ready', async () => (await send(`${replica.url}/ready`)).status === 200)
  }
  await load.goOn(50)
  await load.stop()
  const failed = load.outcomes.filter((outcome) => !isGood(outcome))
  t.deepEqual(failed.slice(lost.length), [], 'a rolling restart fails no request')
  t.is(topology.proxyOutput(), '', 'nor does it fill the log of the proxy')
  t.log({ answers: load.outcomes.length, 'lost by the kill': lost.length })

  // Every acknowledged publish exists, though each replica was stopped once.
  const taken = load.outcomes
    .filter(({ status }) => status === 201)
    .map(({ call }) => JSON.parse(call.body!).listing_id)
  const all = await send(`${url}/listings`, {
    headers: { ...reader.headers, Accept: 'application/x-ndjson' },
  })
  const there = new Set(
    all.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).listing_id),
  )
  t.true(taken.length > 20)
  t.deepEqual(
    taken.filter((id) => !there.has(id)),
    [],
  )
})
