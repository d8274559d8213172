import test, { type ExecutionContext } from 'ava'
import type { ChangeJson } from '../../../src/wire/change.ts'
import { block, unblock } from '../../helpers/blocks.ts'
import { eventually } from '../../helpers/eventually.ts'
import { listingText } from '../../helpers/fake-registry.ts'
import { comparable, Follower } from '../../helpers/follower.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { ADMIN, type RunningService, send } from '../../helpers/registry.ts'
import { runCli } from '../../helpers/run-cli.ts'
import { ALICE, BOB, mintKey, postJson, publish, remove, update } from '../../helpers/seller.ts'
import { CAROL, openMarket, shown } from './shops.ts'

/** The shops, and what Alice and Bob sell in the own Registry. */
async function openShops(t: ExecutionContext): Promise<RunningService> {
  const service = await openMarket(t)
  const shop = { storefront_url: 'https://alice.example/shop' }
  t.is((await publish(service.url, ALICE, { listing_id: 'own', ...shop })).status, 201)
  t.is((await publish(service.url, BOB, { listing_id: 'bobs' })).status, 201)
  return service
}

test('block: a publisher is in no answer at once, and comes back when it is undone', async (t) => {
  const service = await openShops(t)
  const before = await shown(service)
  t.deepEqual(before, ['held/held-carol', 'held/shared', 'live/live-carol', 'local/bobs', 'local/own'])
  const id = await block(service, { subject: ALICE.address })
  const left = ['held/held-carol', 'live/live-carol', 'local/bobs']
  t.deepEqual(await shown(service), left)
  t.deepEqual(await shown(service, '?sort=price'), left)
  const lines = (await service.get('/listings', { Accept: 'application/x-ndjson' })).text.trim().split('\n')
  t.is(lines.length, left.length + 1)
  t.is((await service.get('/listings/own')).status, 404)
  t.is((await service.get('/listings/shared')).status, 404)
  const facets = (await service.get('/facets?by=registry')).json() as {
    total: number
    sources: { matched: number }[]
  }
  t.deepEqual([facets.total, ...facets.sources.map(({ matched }) => matched)], [3, 1, 1, 1])
  const { sources } = (await service.get('/sources')).json() as { sources: { listings: number }[] }
  t.deepEqual(
    sources.map(({ listings }) => listings),
    [1, 1, 1],
  )
  t.false((await service.get('/publishers')).text.includes(ALICE.address.toLowerCase()))
  t.like((await service.get('/api/v1/system/stats')).json(), { publisher_count: 1, order_count: 1 })
  t.is((await unblock(service, id)).status, 204)
  t.true((await service.get('/publishers')).text.includes(ALICE.address.toLowerCase()))
  t.deepEqual(await shown(service), before)
})

/** A gateway over one source in memory, which answers with that status from then on. */
async function openHeld(t: ExecutionContext) {
  const held = await startFake(t, {
    items: [listingText({ listing_id: 'carol', publisher_id: 1 })],
    publishers: [[1, CAROL]],
  })
  const service = await startPatientGateway(
    t,
    [{ name: 'held', url: held.url, settings: 'refresh_seconds = 3600' }],
    { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } },
  )
  const answer = async (status: number): Promise<void> => {
    held.script = [status === 200 ? { kind: 'serve' } : { kind: 'status', status }]
    for (const act of ['probe', 'refresh'])
      await send(`${service.url}/admin/sources/held/${act}`, { method: 'POST', headers: ADMIN })
    await eventually(`${status} of the source`, async () => {
      const { sources } = (await service.get('/sources')).json() as { sources: Record<string, unknown>[] }
      const state = sources.find(({ registry }) => registry === 'held')?.state
      return state === (status === 200 ? 'loaded' : 'unavailable')
    })
  }
  return { held, service, answer }
}

test('block: the command says how many listings it hides, or that it hides nothing now', async (t) => {
  const { url } = await openShops(t)
  const blocked = async (...args: string[]) =>
    (
      await runCli(['block', ...args, '--reason', 'spam', '-r', url], {
        env: { REGISTRY_ADMIN_API_KEY: 'admin' },
      })
    ).stderr
  t.regex(await blocked(CAROL), /^block 1 holds and hides 2 open listings; undo it: entrepot unblock 1$/m)
  t.regex(await blocked('https://nowhere.example/shop'), /^block 2 holds and hides nothing now/m)
})

test('block: what is set or undone while a source refuses our key holds once it answers again', async (t) => {
  const { service, answer } = await openHeld(t)
  const id = await block(service, { subject: CAROL })
  t.deepEqual(await shown(service), [])
  await answer(401)
  await unblock(service, id)
  await answer(200)
  t.deepEqual(await shown(service), ['held/carol'])
  await answer(401)
  await block(service, { subject: CAROL })
  await answer(200)
  t.deepEqual(await shown(service), [])
})

test('block: what it hides is, while its source is away, no other answer than an unknown listing', async (t) => {
  const { held, service } = await openHeld(t)
  await block(service, { subject: CAROL })
  const ask = async (id: string) => {
    const { status, text } = await service.get(`/listings/${id}`)
    return [status, text.replaceAll(/"elapsed_ms":\d+/g, '')]
  }
  held.listingScript = { kind: 'status', status: 500 }
  const unknown = await ask('nothing')
  t.is(unknown[0], 502)
  t.deepEqual(await ask('carol'), unknown)
})

test('changes: a source that refuses our key removes nothing but what was gone before, and who lacks some of it reads again', async (t) => {
  const { held, service, answer } = await openHeld(t)
  await publish(service.url, BOB, { listing_id: 'bobs' })
  const [early, late] = [new Follower(service), new Follower(service)]
  await early.begin()
  held.items = [listingText({ listing_id: 'later', publisher_id: 1 })]
  await answer(200)
  await answer(401)
  await early.catchUp()
  t.deepEqual(names(early), ['bobs'], 'carol is gone; later was never shown')
  await late.begin()
  t.deepEqual(names(late), ['bobs'])
  await answer(200)
  await eventually('both have what is shown again', async () => {
    for (const one of [early, late]) await one.catchUp()
    return [early, late].every((one) => names(one).join() === 'bobs,later')
  })
  t.deepEqual([early.readings, late.readings], [2, 2])
})

const names = ({ map }: Follower): string[] =>
  [...map.keys()].map((key) => key.slice(key.lastIndexOf('/') + 1)).sort()

test('block: followers lose what it hides and get it back, and nothing of it meanwhile', async (t) => {
  const service = await openShops(t)
  const kinds = (changes: readonly ChangeJson[]) =>
    changes.map((change) => [change.type, 'listing_id' in change && change.listing_id])
  const follower = new Follower(service, { query: 'sources=local,held' })
  await follower.begin()
  const id = await block(service, { subject: ALICE.address })
  await eventually('both removed', async () => {
    await follower.catchUp()
    return follower.changes.length >= 2
  })
  t.deepEqual(kinds(follower.changes).sort(), [
    ['removed', 'own'],
    ['removed', 'shared'],
  ])
  t.is((await remove(service.url, 'own')).status, 204)
  await publish(service.url, BOB, { listing_id: 'later' })
  await eventually('the next listing', async () => {
    await follower.catchUp()
    return [...follower.map.keys()].some((key) => key.endsWith('/later'))
  })
  t.deepEqual(kinds(follower.changes.slice(2)), [['listing', 'later']])
  await unblock(service, id)
  await eventually('what the block hid', async () => {
    await follower.catchUp()
    return [...follower.map.keys()].some((key) => key.endsWith('/shared'))
  })
  t.deepEqual(comparable(follower.map), comparable((await follower.read()).map))
})

test('block: a cursor and a stream that run go on without what it hides', async (t) => {
  const service = await openShops(t)
  const { next_cursor, items } = (await service.get('/listings?limit=1')).json() as {
    next_cursor: string
    items: { listing_id: string }[]
  }
  t.deepEqual(
    items.map(({ listing_id }) => listing_id),
    ['bobs'],
  )
  const stream = await fetch(`${service.url}/changes?sources=local,held`, {
    headers: { Accept: 'text/event-stream' },
  })
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.teardown(() => reader.cancel())
  await block(service, { subject: ALICE.address })
  const rest: string[] = []
  for (let cursor: string | null = next_cursor; cursor !== null; ) {
    const page = (await service.get(`/listings?limit=1&cursor=${encodeURIComponent(cursor)}`)).json()
    rest.push(...(page.items as { listing_id: string }[]).map(({ listing_id }) => listing_id))
    cursor = (page.next_cursor as string | undefined) ?? null
  }
  t.deepEqual(rest.sort(), ['held-carol', 'live-carol'])
  let events = ''
  while (events.split('"type":"removed"').length < 3) events += (await reader.read()).value ?? ''
  t.deepEqual([...events.matchAll(/"listing_id":"(\w+)"/g)].map(([, id]) => id).sort(), ['own', 'shared'])
})

test('block: it reaches its source alone, and the best of the others decides', async (t) => {
  const service = await openShops(t)
  await block(service, { subject: ALICE.address, source: 'held' })
  t.deepEqual(await shown(service), [
    'held/held-carol',
    'live/live-carol',
    'live/shared',
    'local/bobs',
    'local/own',
  ])
  await block(service, { subject: 'HTTPS://Carol.example:443/shop/', source: 'live' })
  t.deepEqual(await shown(service), ['held/held-carol', 'live/shared', 'local/bobs', 'local/own'])
})

test('block: one of a listing holds beside one of the same id of another publisher', async (t) => {
  const service = await openShops(t)
  const before = await shown(service)
  await block(service, { subject: `${BOB.address}/held-carol` })
  t.deepEqual(await shown(service), before)
  const id = await block(service, { subject: `${CAROL}/held-carol` })
  t.deepEqual(
    await shown(service),
    before.filter((name) => name !== 'held/held-carol'),
  )
  await unblock(service, id)
  t.deepEqual(await shown(service), before)
})

test('block: the own Registry refuses the publisher with the reason, after the signature, and lets it delete', async (t) => {
  const service = await openShops(t)
  await block(service, { subject: ALICE.address, reason: 'ticket 812' })
  const refused = await publish(service.url, ALICE, { listing_id: 'more' })
  t.is(refused.status, 403)
  t.regex(refused.text, /has blocked this: ticket 812/)
  t.is((await update(service.url, 'own', { status: 'closed' })).status, 403)
  const wrong = await publish(service.url, ALICE, { listing_id: 'more', signature: `0x${'1'.repeat(130)}` })
  t.is(wrong.status, 401)
  t.is((await remove(service.url, 'own')).status, 204)
  t.is((await publish(service.url, BOB, { listing_id: 'more' })).status, 201)
})

test('block: a listing that was taken down cannot be published again, its siblings can', async (t) => {
  const service = await openShops(t)
  await block(service, { subject: `${ALICE.address}/own` })
  t.false((await shown(service)).includes('local/own'))
  t.is((await remove(service.url, 'own')).status, 204)
  t.is((await publish(service.url, ALICE, { listing_id: 'own' })).status, 403)
  t.is((await publish(service.url, ALICE, { listing_id: 'other' })).status, 201)
})

test('block: what is wrong with one is named, and only the admin key makes one', async (t) => {
  const service = await openShops(t)
  const post = (body: object, headers: Record<string, string> = ADMIN) =>
    postJson(`${service.url}/admin/blocks`, JSON.stringify(body), headers)
  for (const [body, path] of [
    [{ subject: 'alice', reason: 'r' }, 'body.subject'],
    [{ subject: ALICE.address }, 'body.reason'],
    [{ subject: ALICE.address, reason: 'r', source: 'hold' }, 'body.source'],
    [{ subject: ALICE.address, reason: 'r', until: '2026-13-40' }, 'body.until'],
  ] as const) {
    const answer = await post(body)
    t.is(answer.status, 422)
    t.true(answer.text.includes(path), answer.text)
  }
  const { bearer } = await mintKey(service.url, { scope: 'write' })
  t.is((await post({ subject: ALICE.address, reason: 'r' }, bearer)).status, 401)
  t.is((await unblock(service, 9)).status, 404)
})

/** Spellings of one storefront, and others beside it. */
const SPELLINGS = [
  'https://scam.example/shop',
  'https://scam.example./shop',
  'HTTPS://Scam.Example:443/shop/a',
  'https://scam.example.:443/%73hop',
  'https://scam.example/%7e/../sho%70/?a=b',
  'https://\uff53cam.example/shop',
]
const OTHERS = [
  'https://scam.example/shopping',
  'https://scam.example/',
  'https://scam.example:444/shop',
  'https://scam.example/shop%2Fa',
]

for (const [what, subject] of [
  ['as it is', 'https://scam.example/shop'],
  ['with a final dot', 'https://scam.example./shop'],
  ['with escapes', 'https://SCAM.example:443/%73ho%70'],
] as const)
  test(`block: a storefront is known in every spelling, blocked ${what} or denied by a rule`, async (t) => {
    const items = [...SPELLINGS, ...OTHERS].map((storefront_url, n) =>
      listingText({ listing_id: `${n}`, publisher_id: n, storefront_url }),
    )
    const publishers = [...SPELLINGS, ...OTHERS].map(
      (url, n) => [n, `0x${String(n).padStart(40, '0')}`, url] as const,
    )
    const fake = await startFake(t, { items, publishers })
    const upstream = { name: 'a', url: fake.url }
    const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
    const left = OTHERS.map((_, n) => `a/${SPELLINGS.length + n}`).sort()
    const blocking = await startPatientGateway(t, [upstream], { environment })
    t.is((await shown(blocking)).length, items.length)
    await block(blocking, { subject })
    t.deepEqual(await shown(blocking), left)
    const offer = { listing_id: 'own', storefront_url: SPELLINGS[3]! }
    t.is((await publish(blocking.url, ALICE, offer)).status, 403)
    const more = `[[curation.rules]]\ndeny = { storefront = ["${subject}"] }\n`
    t.deepEqual(await shown(await startPatientGateway(t, [upstream], { environment, more })), left)
  })

test('block: it ends after its last day', async (t) => {
  const service = await openShops(t)
  const id = await block(service, { subject: ALICE.address, until: '2026-01-01' })
  await eventually(
    'the end of the block',
    async () =>
      (await service.get('/admin/blocks', ADMIN)).json() as unknown as {
        id: number
        ended_at: string | null
      }[],
    (blocks) => blocks.some((one) => one.id === id && one.ended_at !== null),
  )
  t.true((await shown(service)).includes('local/own'))
})
