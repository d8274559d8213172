import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test from 'ava'
import { MAX_FAILURES_IN_A_ROW } from '../../../src/domain/source/breaker.ts'
import { agentOver } from '../../helpers/agent.ts'
import { deadUrl, listingText } from '../../helpers/fake-registry.ts'
import { startFake } from '../../helpers/gateway.ts'
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
