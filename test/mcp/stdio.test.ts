import test from 'ava'
import { deadUrl, idOf, listingText, listingTexts } from '../helpers/fake-registry.ts'
import { startFarCopies } from '../helpers/far-copies.ts'
import { startFake, startGateway } from '../helpers/gateway.ts'
import { startRegistry } from '../helpers/registry.ts'
import { runProcess } from '../helpers/run-cli.ts'
import { ALICE, publish } from '../helpers/seller.ts'
import { agentOver } from './agent.ts'

test.serial('stdio: tools answer from the configured Registries, with exact listings', async (t) => {
  const odd = listingText({ listing_id: 'odd', created_at: '2026-11-19T00:00:00' }).replace(
    '"gpu_count":1',
    '"gpu_count":1.0,"big":9007199254740993',
  )
  const own = await startRegistry(t)
  await publish(own.url, ALICE, { listing_id: 'own', offer_resource: { gpu_model: 'H200' } })
  const other = await startFake(t, { items: [odd] })
  const agent = await agentOver(t, ['-r', `${own.url},${other.url}`])
  const found = await agent.call('search_listings')
  t.is(found.value.items.length, 2)
  t.true(found.json.includes(`${odd.slice(0, -1)},"_meta":{"registry":"${other.url}"`))
  t.regex(found.notice, /^Complete: every source answered\. 2 of 2/)
  const filtered = await agent.call('search_listings', { filters: { gpu_model: 'H200' } })
  t.deepEqual(
    filtered.value.items.map(({ listing_id }) => listing_id),
    ['own'],
  )
  const one = await agent.call('get_listing', { listing_id: 'own', registry: own.url })
  t.is(one.value.listing?.listing_id, 'own')
  const { filters } = (await agent.call('describe_filters')).value
  t.deepEqual(filters.find(({ name }) => name === 'gpu_model')?.registries, [own.url])
  t.deepEqual(
    (await agent.call('list_sources')).value.sources.map(({ registry, state }) => [registry, state]),
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
  const found = await behind.call('search_listings')
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
  const half = await beside.call('search_listings')
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

test.serial('stdio: pages by cursor', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 5) })
  const agent = await agentOver(t, ['-r', fake.url])
  const first = await agent.call('search_listings', { limit: 3 })
  const second = await agent.call('search_listings', { limit: 3, cursor: first.value.next_cursor })
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
    const { value } = await agent.call('search_listings', {
      limit: 50,
      ...(cursor === undefined ? {} : { cursor }),
    })
    seen.push(...value.items.map(({ listing_id }) => listing_id))
    cursor = value.next_cursor
    a.items.unshift(...listingTexts(`new-${page}`, 3, { created_at: '2026-11-20T01:00:00' }))
    for (const text of a.items.splice(8, 5)) gone.add(idOf(text))
  }
  t.is(new Set(seen).size, seen.length)
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
