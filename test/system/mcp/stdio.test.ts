import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import test, { type ExecutionContext } from 'ava'
import { openAgentMarket } from '../../../src/cli/registries/buyer-market.ts'
import { openRegistryClient } from '../../../src/context/buyer.ts'
import type { Clock } from '../../../src/domain/clock.ts'
import { TokenTable } from '../../../src/domain/price/token.ts'
import { SEES_ALL } from '../../../src/domain/reader.ts'
import { MAX_FAILURES_IN_A_ROW, OPEN_JITTER, OPEN_MS } from '../../../src/domain/source/breaker.ts'
import type { EntrepotError } from '../../../src/errors.ts'
import { EVERYTHING } from '../../../src/gateway/ids-beginning.ts'
import type { SourceNote } from '../../../src/wire/source.ts'
import { agentOver } from '../../helpers/agent.ts'
import { eventually } from '../../helpers/eventually.ts'
import { deadUrl, envelopeText, idOf, listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startFarCopies } from '../../helpers/far-copies.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { listen } from '../../helpers/listen.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { BIN, runProcess } from '../../helpers/run-cli.ts'
import { ALICE, publish } from '../../helpers/seller.ts'

test.serial('stdio: tools answer from the configured Registries, with exact listings', async (t) => {
  const odd = listingText({ listing_id: 'odd', created_at: '2026-11-19T00:00:00' }).replace(
    '"gpu_count":1',
    '"gpu_count":1.0,"big":9007199254740993',
  )
  const own = await startRegistry(t)
  await publish(own.url, ALICE, { listing_id: 'own', offer_resource: { gpu_model: 'H200' } })
  const other = await startFake(t, { items: [odd] })
  const agent = await agentOver(t, ['-r', `${own.url},${other.url}`])
  const found = await agent.read('search_listings')
  t.is(found.value.items.length, 2)
  t.true(found.json.includes(`${odd.slice(0, -1)},"_meta":{"registry":"${other.url}"`))
  t.regex(found.notice, /^Complete: 2 of 2 answered, oldest reading \d+ s\. 2 of 2/)
  const filtered = await agent.read('search_listings', { filters: { gpu_model: 'H200' } })
  t.deepEqual(
    filtered.value.items.map(({ listing_id }) => listing_id),
    ['own'],
  )
  const one = await agent.call('get_listing', { listing_id: 'own', registry: own.url })
  t.is(one.value.listing?.listing_id, 'own')
  const { filters } = (await agent.read('describe_filters')).value
  t.deepEqual(filters.find(({ name }) => name === 'gpu_model')?.registries, [own.url])
  t.deepEqual(
    (await agent.read('list_sources')).value.sources.map(({ registry, state }) => [registry, state]),
    [
      [own.url, 'loaded'],
      [other.url, 'unavailable'],
    ],
  )
})

test.serial('stdio: unreachable sources are described, also those of a gateway', async (t) => {
  const well = await startFake(t, { items: [listingText()] })
  const gateway = await startGateway(t, [
    { name: 'well', url: well.url },
    { name: 'gone', url: deadUrl() },
  ])
  const dead = deadUrl()
  const behind = await agentOver(t, ['-r', gateway.url])
  const found = await behind.read('search_listings')
  t.is(found.value.items.length, 1)
  t.false(found.value.complete)
  t.true(
    found.notice.startsWith(
      `INCOMPLETE: ${gateway.url}/gone is unavailable: it refused the connection (connection_refused).`,
    ),
    found.notice,
  )
  t.regex(
    (await behind.call('list_sources')).notice,
    /^INCOMPLETE: \S+\/gone is unavailable: it refused the connection \(connection_refused\)/,
  )
  const elsewhere = await behind.call('get_listing', { listing_id: 'elsewhere' })
  t.true(elsewhere.isError)

  const beside = await agentOver(t, ['-r', `${well.url},${dead}`])
  const half = await beside.read('search_listings')
  t.true(
    half.notice.startsWith(
      `INCOMPLETE: ${dead} is unavailable: it refused the connection (connection_refused).`,
    ),
    half.notice,
  )
  t.is(half.value.items.length, 1)
  const none = await beside.call('search_listings', { sources: [dead] })
  t.true(none.isError)
  t.regex(none.notice, /^Not answered: .*INCOMPLETE/)
})

test.serial('stdio: a hanging Registry is asked a few times, then named with the cause', async (t) => {
  const hanging = await startFake(t, { script: [{ kind: 'hang' }] })
  const agent = await agentOver(t, ['-r', hanging.url, '--discovery-timeout', '0.2'])
  const search = async (): Promise<string> => {
    const { isError, notice } = await agent.call('search_listings')
    t.true(isError)
    return /INCOMPLETE: .* \((\w+)\)/.exec(notice)?.[1] ?? notice
  }
  const reasons = new Set<string>()
  for (let call = 0; call < 12; call++) reasons.add(await search())
  t.deepEqual([...reasons], ['timeout'], 'the cause, also while it is not asked')
  const { notice, value } = await agent.read('list_sources')
  t.is(value.sources[0]?.reason, 'timeout')
  t.regex(notice, / is unavailable: it did not answer in time/)
  // A call may begin while the last failure is counted, and a probe may be sent meanwhile.
  t.true(hanging.requests.length <= MAX_FAILURES_IN_A_ROW + 2)
})

test('discovery: a Registry that was paused is asked again after the pause', async (t) => {
  let asked = 0
  const clock = manualClock()
  const search = await searchOver(t, { clock, isDown: () => ++asked <= MAX_FAILURES_IN_A_ROW })
  for (let call = 0; call < MAX_FAILURES_IN_A_ROW; call++) t.is(await search(), 'connection_reset')
  t.is(await search(), 'connection_reset')
  t.is(asked, MAX_FAILURES_IN_A_ROW)
  clock.advance(OPEN_MS * (1 + OPEN_JITTER))
  t.is(await search(), 'connection_reset')
  // Two probes close the circuit breaker.
  await eventually('waiting', () => clock.pending() === 1)
  clock.advance(0)
  t.is(await eventually('closed', search, (found) => found !== 'connection_reset'), 1)
})

test('discovery: a Registry whose filter spec fails is still asked for listings', async (t) => {
  const search = await searchOver(t, { isDown: ({ url }) => url === '/filter-spec' })
  for (let call = 0; call <= MAX_FAILURES_IN_A_ROW; call++)
    t.is(await search([['gpu_model', 'H100']]), 'connection_reset')
  t.is(await search(), 1)
})

type FlakyRegistry = { clock?: Clock; isDown: (request: IncomingMessage) => boolean }

/** A search of one Registry with one listing: gives the number of listings, or the Registry's reason. */
async function searchOver(t: ExecutionContext, { clock = manualClock(), isDown }: FlakyRegistry) {
  const url = await listen(t, (request, response) => {
    if (isDown(request)) response.destroy()
    else response.end(request.url?.startsWith('/listings?') ? envelopeText([listingText()], 1) : '{}')
  })
  const client = openRegistryClient({ hasBreakers: true, clock })
  t.teardown(client.close)
  const selected = { registries: [{ url, key: null }], discoveryTimeoutMs: 5000, tokens: new TokenTable([]) }
  const market = openAgentMarket(client, selected)
  const newest = { ...EVERYTHING, status: 'open', limit: 20, offset: 0, cursor: null } as const
  const request = { reader: SEES_ALL, signal: new AbortController().signal }
  return (filters: [string, string][] = []): Promise<unknown> =>
    market.page({ ...newest, filters }, request).then(
      ({ items }) => items.length,
      ({ members }: EntrepotError) => (members.sources as SourceNote[])[0]?.reason,
    )
}

test.serial('stdio: pages by cursor', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 5) })
  const agent = await agentOver(t, ['-r', fake.url])
  const first = await agent.read('search_listings', { limit: 3 })
  const second = await agent.read('search_listings', { limit: 3, cursor: first.value.next_cursor })
  const ids = [first, second].flatMap(({ value }) => value.items.map(({ listing_id }) => listing_id))
  t.deepEqual(ids, ['a-0000', 'a-0001', 'a-0002', 'a-0003', 'a-0004'])
  t.is(second.value.next_cursor, undefined)
  t.true((await agent.call('search_listings', { cursor: 'elsewhere' })).isError)
})

test.serial('stdio: cursors lose and repeat nothing despite changes between pages', async (t) => {
  const { fakes, ids } = await startFarCopies(t, 120)
  const [a] = fakes
  const agent = await agentOver(t, ['-r', fakes.map(({ url }) => url).join(',')])
  const seen: string[] = []
  const gone = new Set<string>()
  let cursor: string | undefined
  for (let page = 0; page === 0 || cursor !== undefined; page++) {
    const { value } = await agent.read('search_listings', {
      limit: 50,
      ...(cursor === undefined ? {} : { cursor }),
    })
    seen.push(...value.items.map(({ listing_id }) => listing_id))
    cursor = value.next_cursor
    a.items.unshift(...listingTexts(`new-${page}`, 3, { created_at: '2026-11-20T01:00:00' }))
    for (const text of a.items.splice(8, 5)) gone.add(idOf(text))
  }
  // Where the best copy is gone, another one decides, at its own place.
  const kept = seen.filter((id) => !gone.has(id))
  t.is(new Set(kept).size, kept.length)
  t.deepEqual(
    ids.filter((id) => !gone.has(id) && !seen.includes(id)),
    [],
  )
})

const message = (fields: Record<string, unknown>): string =>
  `${JSON.stringify({ jsonrpc: '2.0', ...fields })}\n`

const HELLO = message({
  id: 'hello',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})

test.serial('stdio: stdout is protocol only, and requests before the end are answered', async (t) => {
  const fake = await startFake(t, { items: [listingText()], script: [{ kind: 'delay', ms: 300 }] })
  const call = message({ id: 7, method: 'tools/call', params: { name: 'search_listings', arguments: {} } })
  const { code, stdout, stderr } = await runProcess(['mcp', '-r', fake.url], { input: HELLO + call })
  t.is(code, 0)
  t.deepEqual(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id),
    ['hello', 7],
  )
  t.regex(stderr, /\[mcp\] serving/)
})

test.serial('stdio: ends after the reader of stdout has gone', async (t) => {
  const child = spawn(process.execPath, [BIN, 'mcp', '-r', deadUrl()])
  t.teardown(() => child.kill())
  child.stdout.destroy()
  child.stdin.write(HELLO)
  t.deepEqual(await once(child, 'exit'), [0, null])
})

test.serial('stdio: a line that is no message is answered with an error of JSON-RPC', async (t) => {
  const { stdout } = await runProcess(['mcp', '-r', deadUrl()], { input: `not json\n[1]\n${HELLO}` })
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.deepEqual(
    answers.map(({ id, error }) => [id, error?.code]),
    [
      [null, -32700],
      [null, -32600],
      ['hello', undefined],
    ],
  )
})

test.serial('stdio: an endless message ends the process within its memory limit', async (t) => {
  const { code, stdout } = await runProcess(['mcp', '-r', 'http://127.0.0.1:1'], {
    input: 'x'.repeat(3 * 1024 * 1024),
  })
  t.is(code, 0)
  t.is(stdout, '')
})
