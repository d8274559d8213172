import { execFileSync } from 'node:child_process'
import test from 'ava'
import fc from 'fast-check'
import {
  curlListing,
  curlListings,
  listingCommandLine,
  listingsCommandLine,
  shellQuote,
} from '../../../src/web/board/commands.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { openMarket } from '../../helpers/market.ts'
import { send } from '../../helpers/registry.ts'
import { CLI, runShell } from '../../helpers/run-cli.ts'
import { runs } from '../../helpers/runs.ts'

const BASE = 'https://market.example/hub/'

/** The words that a POSIX shell makes of a command. */
const wordsOf = (command: string): string[] =>
  execFileSync('sh', ['-c', `print() { for word; do printf '%s\\0' "$word"; done; }; print ${command}`], {
    encoding: 'utf8',
    env: { ENTREPOT_KEY: 'the-key' },
  })
    .split('\0')
    .slice(0, -1)

const text = fc.string({
  unit: fc.constantFrom(...`aZ0 '"$\`\\;&|<>(){}[]*?!#~=%,\n\t-é世🙂`),
  maxLength: 30,
})

test('shell quoting: any text stays one word, unchanged', (t) => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 40 }), (texts) => {
      t.deepEqual(wordsOf(texts.map(shellQuote).join(' ')), texts)
    }),
    { numRuns: runs(25) },
  )
})

test('curl command: requests exactly the query, whatever its values', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 5 }), fc.boolean(), (query, hasKey) => {
      const words = wordsOf(curlListings(BASE, query, hasKey))
      const url = new URL(words.at(-1)!)
      t.is(url.origin + url.pathname, `${BASE}listings`)
      t.deepEqual([...url.searchParams], query)
      t.deepEqual(words.slice(2, -1), hasKey ? ['-H', 'Authorization: Bearer the-key'] : [])
    }),
    { numRuns: runs(25) },
  )
})

test('command line: has the same filters, without parameters of the gateway', (t) => {
  const OPTIONS = [
    ['gpu_model', "in:[H100,it's]", "--filter=gpu_model=in:[H100,it's]"],
    ['status', '', '--status=all'],
    ['publisher', '0xabc', '--publisher=0xabc'],
    ['strict.region', 'true', '--filter=strict.region=true'],
    ['sources', 'a,b', null],
    ['require', 'all', null],
    ['sort', 'price', '--sort=price'],
    ['price_token', 'base:USDC', '--token=base:USDC'],
    ['price_max', '2.10', '--max-price=2.10'],
    ['price_per', 'offer', '--per=offer'],
  ] as const
  const query = OPTIONS.map(([name, value]) => [name, value] as const)
  t.deepEqual(wordsOf(listingsCommandLine(BASE, query)!), [
    ...['entrepot', 'listings', '-r', 'https://market.example/hub'],
    ...OPTIONS.flatMap(([, , option]) => option ?? []),
  ])
})

test('command line: none for values with terminal control characters', (t) => {
  for (const value of ['\u001b[201~', 'a\nb', '\u202e', '\u0000']) {
    t.is(listingsCommandLine(BASE, [['region', value]]), null)
    t.is(listingCommandLine(BASE, { id: value, registry: null }), null)
    t.regex(curlListings(BASE, [['region', value]], false), /^[\x20-\x7e]+$/)
    t.regex(curlListing(BASE, { id: value, registry: value }, false), /^[\x20-\x7e]+$/)
  }
})

test('commands: one listing comes from its source at the gateway', (t) => {
  t.is(
    curlListing(BASE, { id: 'a/b', registry: 'eu/curated' }, false),
    `curl -g '${BASE}listings/a%2Fb?registry=eu'`,
  )
  t.is(
    listingCommandLine(BASE, { id: '-r', registry: null }),
    'entrepot listing -r https://market.example/hub -- -r',
  )
})

test('commands: pasted into a shell, they print what the board shows', async (t) => {
  const region = "it's a $(place) in `town`"
  const registry = await openMarket(t)
  for (const [listing_id, place] of Object.entries({ there: region, '-r': region, elsewhere: 'Berlin' })) {
    const offer_resource = { region: place }
    await registry.publish({ listing_id, storefront_url: 'https://a.example', offer_resource })
  }
  const gateway = await startGateway(t, [{ name: 'far', url: registry.url }])
  const base = `${gateway.url}/`
  const idsOf = (rows: { listing_id: string }[]): string[] => rows.map(({ listing_id }) => listing_id).sort()
  const cli = async (command: string | null): Promise<string> => {
    const { code, stdout, stderr } = await runShell((command ?? 'false').replace(/^entrepot/, CLI))
    t.is(code, 0, stderr)
    return stdout
  }
  // As curl would: the URL is the last of the words that the shell makes of the command.
  const curl = async (command: string) => JSON.parse((await send(wordsOf(command).at(-1) ?? '')).text)
  const query = [['region', region]] as const
  const odd = { id: '-r', registry: 'far' }
  t.deepEqual(idsOf(JSON.parse(await cli(listingsCommandLine(base, query)))), ['-r', 'there'])
  t.deepEqual(idsOf((await curl(curlListings(base, query, false))).items), ['-r', 'there'])
  t.is(JSON.parse(await cli(listingCommandLine(base, odd))).listing_id, '-r')
  t.is((await curl(curlListing(base, odd, false))).listing.listing_id, '-r')
})
