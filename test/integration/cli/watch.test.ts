import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test from 'ava'
import { escrow } from '../../helpers/escrow.ts'
import { eventually } from '../../helpers/eventually.ts'
import { listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake } from '../../helpers/gateway.ts'
import { BIN, runCli, runInTerminal, TIME_LAPSE } from '../../helpers/run-cli.ts'
import {
  ALICES,
  feedAnswer,
  listingChange,
  removedChange,
  startScriptedFeed,
} from '../../helpers/scripted-feed.ts'

const machine = (value: string, more: object = {}) =>
  JSON.parse(
    listingText({
      listing_id: 'gpu-1',
      offer_resource: { gpu_model: 'H200', gpu_count: 2, region: 'Paris, FR' },
      accepted_escrows: [escrow(value)],
      ...more,
    }),
  )
const REFUSED = { status: 401, body: { detail: 'Invalid or revoked API key' } }

test('watch: prints a change a line as JSON, with the query of the options, until the Registry refuses', async (t) => {
  const { url, asked } = await startScriptedFeed(t, [
    feedAnswer('p1', []),
    feedAnswer('p2', [listingChange(machine('4200000')), removedChange('gpu-2')]),
    REFUSED,
  ])
  const options = ['--gpu', 'H200', '--token', 'USDC', '--max-price', '2.10', '--status', 'all']
  const { code, stdout, stderr } = await runCli(['watch', '-r', url, ...options])
  t.is(code, 77)
  t.regex(stderr, /Invalid or revoked API key/)
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.like(lines, [
    { type: 'listing', listing_id: 'gpu-1', listing: { status: 'open' } },
    { type: 'removed', listing_id: 'gpu-2' },
  ])
  t.is(asked[0], '/changes?gpu=H200&status=&price_token=USDC&price_max=2.10')
  t.is(asked[1], '/changes?since=p1&gpu=H200&status=&price_token=USDC&price_max=2.10 wait=30')
})

test('watch: --exec gets each change on its stdin, and its failure ends nothing', async (t) => {
  const { url } = await startScriptedFeed(t, [
    feedAnswer('p1', [listingChange(machine('4200000')), removedChange('gpu-1')]),
    REFUSED,
  ])
  const { stdout, stderr } = await runCli(['watch', '-r', url, '--exec', 'grep -q removed'])
  t.is(stdout.trim().split('\n').length, 2)
  t.is(stderr.match(/--exec ended with exit code 1/g)?.length, 1)
})

const identity = { scheme: 'eip191', identifier: ALICES }
const OTHERS = {
  '/publishers': { items: [{ publisher_id: 1, storefront_url: null, identities: [identity] }], count: 1 },
}
const listed = (...items: object[]) => ({
  ...OTHERS,
  '/listings': { items, count: items.length, total_after_filter: items.length },
})

test('watch: begins with how many listings match, and the cheapest; a change has the price before', async (t) => {
  const dear = machine('9000000', { listing_id: 'gpu-2' })
  const feed = [feedAnswer('p1', [listingChange(machine('4200000'))]), REFUSED]
  const { url } = await startScriptedFeed(t, feed, listed(machine('4900000'), dear))
  const { stdout } = await runInTerminal(['watch', '-r', url])
  const lines = stdout.split('\r\n').map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ''))
  const name = url.replace('http://', '')
  t.true(
    lines.includes(
      `[registry] 1 of 1 answered: 2 listings match; the cheapest 2.45 USDC/GPU·h  2 × H200  Paris, FR  http://${name}  gpu-1`,
    ),
    stdout,
  )
  t.true(lines.includes('changed  2.10 USDC/GPU·h (was 2.45 USDC/GPU·h)  2 × H200  Paris, FR  gpu-1'), stdout)
})

test('watch: a source that does not answer any more is named, with the reason and with its copy', async (t) => {
  const states: object[] = [
    { registry: 'a', state: 'stale', reason: 'connection_refused' },
    { registry: 'b', state: 'unavailable', reason: 'timeout' },
  ]
  const all = ['a', 'b'].map((registry) => ({ registry, state: 'loaded' }))
  const { url } = await startScriptedFeed(t, [
    feedAnswer('p1', [], { sources: all }),
    feedAnswer('p2', [removedChange('gpu-9')], { sources: states }),
    { status: 503, headers: { 'Retry-After': '0' }, body: { detail: 'The service stops.' } },
    feedAnswer('p3', [removedChange('gpu-9')], { sources: all }),
    REFUSED,
  ])
  const { stderr } = await runCli(['watch', '-r', url])
  const notes = stderr.split('\n').filter((line) => line.startsWith(`[registry] ${url}: `))
  t.deepEqual(
    notes.map((line) => line.slice(`[registry] ${url}: `.length)),
    [
      'a is unavailable: it refused the connection (connection_refused)',
      'b is unavailable: it did not answer in time (timeout)',
      'The service stops. Trying again in 1 s.',
      'It answers again.',
      'a answers.',
      'b answers.',
      'Invalid or revoked API key',
    ],
  )
})

test('watch: on a terminal a line says what has changed, its price and the one before', async (t) => {
  const feed = [
    feedAnswer('p1', [listingChange(machine('4200000'))]),
    feedAnswer('p2', [
      listingChange(
        machine('3500000', {
          updated_at: '2026-11-21T00:00:00',
          offer_resource: { gpu_model: 'H200\u001b[31m', gpu_count: 2 },
        }),
      ),
      removedChange('gpu-1'),
    ]),
    REFUSED,
  ]
  const { url } = await startScriptedFeed(t, feed, listed())
  const { stdout } = await runInTerminal(['watch', '-r', url])
  const lines = stdout.split('\r\n').map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ''))
  t.is(lines[0], '[registry] 1 of 1 answered: 0 listings match')
  t.deepEqual(lines.slice(1, 4), [
    'new      2.10 USDC/GPU·h  2 × H200  Paris, FR  gpu-1',
    'changed  1.75 USDC/GPU·h (was 2.10 USDC/GPU·h)  2 × H200\\u001b[31m  gpu-1',
    'gone     1.75 USDC/GPU·h  gpu-1',
  ])
})

test('watch: a Registry without a feed is read again and again, and what has changed is printed', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const child = spawn(process.execPath, [BIN, 'watch', '-r', fake.url], {
    env: { ...process.env, ...TIME_LAPSE },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const isPage = ({ path }: { path: string }) => path.startsWith('/listings')
  await eventually('two readings', () => fake.requests.filter(isPage).length >= 2)
  fake.items = [...listingTexts('b', 1), ...listingTexts('a', 2)]
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  await eventually('both changes', () => printed.split('\n').length === 3)
  child.kill('SIGTERM')
  await once(child, 'exit')
  const changes = printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.like(changes, [
    { type: 'listing', listing_id: 'b-0000' },
    { type: 'removed', listing_id: 'a-0002' },
  ])
})

test('watch: a Registry without a feed that does not answer any more is named with the reason, and again when it is back', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 1) })
  const child = spawn(process.execPath, [BIN, 'watch', '-r', fake.url], {
    env: { ...process.env, ...TIME_LAPSE },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let printed = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed += text))
  await eventually('its first line', () => /1 of 1 answered: 1 listing matches/.test(printed))
  fake.script = [{ kind: 'status', status: 500 }]
  const failure = /is unavailable: .*; it is asked every 60 s/
  await eventually('the reason', () => failure.test(printed))
  fake.script = []
  await eventually('its return', () => /It answers again/.test(printed))
  t.is(printed.match(/is unavailable/g)?.length, 1, printed)
})
