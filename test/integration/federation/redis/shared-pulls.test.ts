import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../../helpers/eventually.ts'
import { type FakeRegistry, listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../../helpers/gateway.ts'
import { type ManualClock, manualClock } from '../../../helpers/manual-clock.ts'
import { testRedis } from '../../../helpers/redis.ts'
import type { RunningService } from '../../../helpers/registry.ts'

/** Of its 450 listings: pages overlap. */
const PAGES = 3
const FULL_REFRESH_MS = 60_000

type Replica = RunningService & { clock: ManualClock }

/** Replicas on one Redis that have the same upstream, each with a clock of its own. */
async function open(t: ExecutionContext) {
  const { url, dispose } = await testRedis()
  t.teardown(dispose)
  const fake = await startFake(t, { items: listingTexts('a', 450) })
  const start = async (): Promise<Replica> => {
    const clock = manualClock()
    const settings = 'refresh_seconds = 60\nfull_refresh_seconds = 60'
    const replica = await startPatientGateway(t, [{ name: 'elsewhere', url: fake.url, settings }], {
      clock,
      random: () => 0.5,
      environment: { STORE_URL: url },
    })
    return Object.assign(replica, { clock })
  }
  return { fake, start }
}

type Answer = {
  items: { offer_resource: { gpu_count: number } }[]
  total_after_filter: number
  sources: { age_seconds: number }[]
}

async function read({ get }: Replica): Promise<Answer> {
  return JSON.parse((await get('/listings?limit=200&offset=200')).text)
}

async function sourceOf({ get }: Replica): Promise<{ last_error: object | null }> {
  return JSON.parse((await get('/sources')).text).sources[1]
}

/** Begins the pull that is due. Without readers, no pull is. */
async function beginPull(replica: Replica): Promise<void> {
  await read(replica)
  replica.clock.advance(FULL_REFRESH_MS)
}

/** Requests for listings of the pull that is due, whose listings are new. */
async function pull(replica: Replica, fake: FakeRegistry): Promise<number> {
  const before = fake.requests.length
  await beginPull(replica)
  // Ages of shared pulls count by the clock of Redis.
  const age = async () => (await read(replica)).sources[1]!.age_seconds * 1000
  await eventually('has a new pull', age, (ms) => ms < FULL_REFRESH_MS)
  return fake.requests.length - before
}

function pagesAt({ requests }: FakeRegistry, offset: number): number {
  return requests.filter(({ parameters }) => parameters.get('offset') === String(offset)).length
}

/** A listing in the middle has other terms, which no first page shows. */
function changeTerms(fake: FakeRegistry): void {
  fake.items = fake.items.with(300, fake.items[300]!.replace('"gpu_count":1', '"gpu_count":7'))
}

async function hasNewTerms(replica: Replica): Promise<boolean> {
  const { items } = await read(replica)
  return items.some(({ offer_resource }) => offer_resource.gpu_count === 7)
}

test('shared pulls: one replica pulls the whole, and the others take it with its age', async (t) => {
  const { fake, start } = await open(t)
  const one = await start()
  t.is(fake.requests.length, PAGES)
  const other = await start()
  t.is(fake.requests.length, PAGES + 1)
  t.is((await read(other)).total_after_filter, 450)

  changeTerms(fake)
  t.is(await pull(one, fake), PAGES)
  t.is(await pull(other, fake), 1)
  t.true(await hasNewTerms(other))
  t.is(await pull(other, fake), PAGES, 'its own turn')
  t.is(await pull(one, fake), 1)
})

test('shared pulls: a replica that does not reach the upstream takes what the others pulled', async (t) => {
  const { fake, start } = await open(t)
  const one = await start()
  const other = await start()
  changeTerms(fake)
  await pull(one, fake)
  fake.script = [{ kind: 'status', status: 404 }]
  t.is(await pull(other, fake), 1)
  t.true(await hasNewTerms(other))
  t.like(await sourceOf(other), { last_error: { reason: 'http_404' } })
})

test('shared pulls: while one replica pulls the others keep what they have, and a failed pull ends its turn', async (t) => {
  const { fake, start } = await open(t)
  const one = await start()
  const other = await start()
  changeTerms(fake)
  const held = Promise.withResolvers<void>()
  fake.script = [{ kind: 'serve' }, { kind: 'hold', until: held.promise }, { kind: 'serve' }]
  await beginPull(one)
  await eventually('begins to pull', () => pagesAt(fake, 190) === 2)
  await beginPull(other)
  await eventually('asks for the first page', () => pagesAt(fake, 0) === 4)
  for (let n = 0; n < 20; n++) await read(other)
  t.is(pagesAt(fake, 190), 2)
  t.false(await hasNewTerms(other))
  held.resolve()
  await eventually('has pulled', () => hasNewTerms(one))
  t.is(await pull(other, fake), 1)

  fake.script = [{ kind: 'serve' }, { kind: 'status', status: 404 }]
  await beginPull(one)
  await eventually('has failed', async () => (await sourceOf(one)).last_error)
  fake.script = [{ kind: 'serve' }]
  t.is(await pull(other, fake), PAGES)
})
