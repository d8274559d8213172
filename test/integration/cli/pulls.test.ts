import test from 'ava'
import { openAgentMarket } from '../../../src/cli/registries/buyer-market.ts'
import { openRegistryClient } from '../../../src/context/buyer.ts'
import { TokenTable } from '../../../src/domain/price/token.ts'
import { SEES_ALL } from '../../../src/domain/reader.ts'
import { EVERYTHING } from '../../../src/gateway/pages/ids-beginning.ts'
import { escrow } from '../../helpers/escrow.ts'
import {
  type Behaviour,
  type FakeOptions,
  type FakeRegistry,
  listingText,
  listingTexts,
} from '../../helpers/fake-registry.ts'
import { startFake } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { runCli } from '../../helpers/run-cli.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'

const SPEC = specBody('one', [filterOf('gpu_model')])

type Printed = { listing_id: string; _meta: { registry: string; unchecked?: string[] } }

const SERVE: Behaviour = { kind: 'serve' }

const H200 = { gpu_model: 'H200', gpu_count: 1 }

/** It costs `value` USDC an hour, in millionths. */
const offer = (id: string, offer_resource: object, value: string): string =>
  listingText({ listing_id: id, offer_resource, accepted_escrows: [escrow(value)] })

const filtersOf = ({ requests }: FakeRegistry): (string | null)[] =>
  requests.map(({ parameters }) => parameters.get('gpu_model'))

const cheapestOf = (...fakes: readonly FakeRegistry[]) =>
  runCli([
    ...['listings', '-r', fakes.map(({ url }) => url).join(), '-f', 'gpu_model=H200'],
    ...['--sort', 'price', '--token', 'USDC', '-l', '5', '--json'],
  ])

test.serial('pulls: no worse copy is shown as if a large Registry had been asked for it', async (t) => {
  // The better Registry has the listing with another model, so only a whole pull shows that it does not match.
  const better = ['a', 'b', 'c'].map((id, n) => offer(id, H200, `${n + 2}000000`))
  const copy = offer('copy', H200, '1000000')
  const worse = [copy, offer('d', H200, '5000000'), offer('e', H200, '6000000')]
  const rows = [
    { others: 500, ids: ['a', 'b', 'c', 'd', 'e'], unchecked: [], asked: [null, null, null] },
    { others: 9990, ids: ['a', 'b', 'c', 'copy', 'd'], unchecked: ['copy', 'd'], asked: [null, 'H200'] },
  ]
  for (const { others, ids, unchecked, asked } of rows) {
    const items = [...better, offer('copy', { gpu_model: 'H100', gpu_count: 1 }, '1000000')]
    const one = await startFake(t, { items: [...items, ...listingTexts('x', others)], filterSpec: SPEC })
    const two = await startFake(t, { items: [...worse, ...listingTexts('y', others)], filterSpec: SPEC })
    const { code, stdout, stderr } = await cheapestOf(one, two)
    t.is(code, 0, stderr)
    const printed: Printed[] = JSON.parse(stdout)
    t.deepEqual(
      printed.map(({ listing_id }) => listing_id),
      ids,
    )
    const marked = printed.filter(({ _meta }) => _meta.unchecked !== undefined)
    t.deepEqual(
      marked.map(({ listing_id, _meta }) => [listing_id, _meta.unchecked]),
      unchecked.map((id) => [id, [one.url]]),
    )
    for (const fake of [one, two]) t.deepEqual(filtersOf(fake), asked)
  }
})

test.serial('pulls: one Registry is always sent the filters that it declares', async (t) => {
  for (const others of [10, 3000]) {
    const items = [offer('a', H200, '2000000'), ...listingTexts('x', others)]
    const one = await startFake(t, { items, filterSpec: SPEC })
    const { code, stdout } = await cheapestOf(one)
    t.is(code, 0)
    t.deepEqual(
      JSON.parse(stdout).map(({ listing_id }: Printed) => listing_id),
      ['a'],
    )
    t.deepEqual(filtersOf(one), ['H200'])
  }
})

test.serial('pulls: filters that a Registry refuses are applied here', async (t) => {
  const rows: [Behaviour, (string | null)[]][] = [
    [{ kind: 'status', status: 412 }, ['H200', 'H200']],
    [{ kind: 'status', status: 400 }, ['H200', null]],
    [{ kind: 'status', status: 500 }, ['H200', null]],
  ]
  for (const [refusal, asked] of rows) {
    const items = [offer('a', H200, '2000000'), ...listingTexts('x', 10)]
    const one = await startFake(t, { items, filterSpec: SPEC, script: [refusal, SERVE] })
    const { code, stdout, stderr } = await cheapestOf(one)
    t.is(code, 0, stderr)
    t.is(JSON.parse(stdout).length, 1)
    t.deepEqual(filtersOf(one), asked)
  }
})

test.serial('pulls: the newest page of one Registry costs one request, whatever it has', async (t) => {
  const one = await startFake(t, { items: listingTexts('x', 3000) })
  const { code, stdout, stderr } = await runCli(['listings', '-r', one.url, '--json'])
  t.is(code, 0, stderr)
  t.is(JSON.parse(stdout).length, 50)
  t.regex(stderr, /ok, 3000 matched, 50 shown/)
  t.is(one.requests.length, 1)
})

/** `shown`: how many of the listings. */
type Row = { fake: FakeOptions; args: string[]; code: number; shown: number; says: RegExp }

const ROWS: Record<string, Row> = {
  'too large': {
    fake: { items: [...listingTexts('x', 10_100), offer('old', H200, '1')] },
    args: ['--gpu', 'H200', '--discovery-timeout', '60'],
    code: 3,
    shown: 0,
    says: /is held in part: 10,000 of 10,101$/m,
  },
  late: {
    fake: { items: listingTexts('x', 1000), script: [SERVE, SERVE, { kind: 'hang' }] },
    args: ['--all', '--discovery-timeout', '2'],
    code: 3,
    shown: 390,
    says: /is held in part: 390 of 1,000: it did not answer in time \(timeout\)$/m,
  },
  'late for the whole command': {
    fake: { items: listingTexts('x', 1000), script: [SERVE, SERVE, { kind: 'hang' }] },
    args: ['--all', '--deadline', '2'],
    code: 3,
    shown: 390,
    says: /is held in part: 390 of 1,000: it did not answer in time \(timeout\)$/m,
  },
  'failing midway': {
    fake: { items: listingTexts('x', 1000), script: [SERVE, SERVE, { kind: 'reset_before_headers' }] },
    args: ['--all'],
    code: 3,
    shown: 390,
    says: /is held in part: 390 of 1,000: it closed the connection early \(connection_reset\)$/m,
  },
  'a gateway that fails midway': {
    fake: {
      kind: 'gateway',
      items: listingTexts('x', 1000),
      script: [SERVE, { kind: 'reset_before_headers' }],
    },
    args: ['--all'],
    code: 3,
    shown: 200,
    says: /is held in part: 200 of 1,000: it closed the connection early \(connection_reset\)$/m,
  },
  'sending nonsense midway': {
    fake: { items: listingTexts('x', 1000), script: [SERVE, SERVE, { kind: 'body', body: 'nonsense' }] },
    args: ['--all'],
    code: 4,
    shown: 0,
    says: /is unavailable: it sent an answer that is not JSON/,
  },
}

for (const [title, { fake, args, code, shown, says }] of Object.entries(ROWS))
  test.serial(`pulls: what came of a Registry counts, and what is missing is named: ${title}`, async (t) => {
    const one = await startFake(t, fake)
    const run = await runCli(['listings', '-r', one.url, '--json', ...args])
    t.regex(run.stderr, says)
    t.is(run.code, code, run.stderr)
    t.is(run.stdout === '' ? 0 : JSON.parse(run.stdout).length, shown)
  })

test('pulls: an agent is answered from a pull of the last seconds, and then from a new one', async (t) => {
  const one = await startFake(t, { items: listingTexts('x', 3) })
  const clock = manualClock()
  const client = openRegistryClient({ hasBreakers: true, clock })
  t.teardown(client.close)
  const registries = [{ url: one.url, key: null }]
  const market = openAgentMarket(client, { registries, discoveryTimeoutMs: 5000, tokens: new TokenTable([]) })
  const request = { reader: SEES_ALL, signal: new AbortController().signal }
  const query = { ...EVERYTHING, status: 'open', limit: 20, offset: 0 } as const
  const search = async () => (await market.page(query, request)).items.length
  t.deepEqual(await Promise.all([search(), search(), search()]), [3, 3, 3])
  t.is(await search(), 3)
  t.is(one.requests.length, 1)
  one.items.pop()
  clock.advance(10_000)
  t.is(await search(), 2)
  t.is(one.requests.length, 2)
})
