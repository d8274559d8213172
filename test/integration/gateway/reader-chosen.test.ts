import test from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { type Behaviour, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { type ManualClock, manualClock } from '../../helpers/manual-clock.ts'
import type { Answer } from '../../helpers/sequence.ts'

const HTML = { 'content-type': 'text/html' }

/** What an upstream, or a proxy before it, may make of an odd id, while everything else works. */
const ANSWERS: readonly (readonly [path: string, answer: Behaviour])[] = [
  ['/listings/%00', { kind: 'status', status: 500 }],
  ['/listings/..%2Fhealth', { kind: 'body', body: '{"status":"ok"}' }],
  ['/listings/%3Cscript%3E', { kind: 'status', status: 403, body: '<html>', headers: HTML }],
  ['/listings/x', { kind: 'status', status: 429, headers: { 'retry-after': '900' } }],
  ['/listings/x', { kind: 'status', status: 503, headers: { 'retry-after': '900' } }],
  ['/listings/x', { kind: 'status', status: 404, body: '<html>', headers: HTML }],
]

for (const [path, listingScript] of ANSWERS)
  test(`${path} that an upstream answers with ${JSON.stringify(listingScript).slice(16, 60)} shuts it off for no other question`, async (t) => {
    const clock = manualClock()
    const fake = await startFake(t, { items: listingTexts('a', 3), listingScript })
    const { get } = await startGateway(t, [{ name: 'up', url: fake.url }], { clock, random: () => 0 })
    const pages = () => fake.requests.filter((request) => request.path === '/listings').length
    const pulled = pages()
    for (let n = 0; n < 20; n++) {
      const reply = get(path)
      t.is((await settled(reply, clock)).status, 502)
    }
    t.true(pages() - pulled <= 20, 'each failure costs one probe')
    t.true(fake.requests.length - pages() <= 25, 'and few are repeated')
    for (const question of ['/listings', '/listings?limit=1', '/listings?offset=1']) {
      const { sources, complete } = (await get(question, { 'Cache-Control': 'no-cache' })).json() as Answer
      t.true(complete, question)
      t.is(sources[1]?.state, 'loaded')
    }
  })

/** Lets the pause before a second attempt pass. */
async function settled<T>(reply: Promise<T>, clock: ManualClock): Promise<T> {
  let isDone = false
  void reply.finally(() => {
    isDone = true
  })
  await eventually('answered', () => {
    clock.advance(0)
    return isDone
  })
  return reply
}
