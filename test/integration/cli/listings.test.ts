import test from 'ava'
import { parse as parseYaml } from 'yaml'
import { API_CREDIT_EXAMPLES, VM_EXAMPLES } from '../../../demo/offers.ts'
import { presentationRecord } from '../../../src/wire/presentation.ts'
import { escrow } from '../../helpers/escrow.ts'
import { deadUrl, envelopeText, listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startServer } from '../../helpers/fixed-answers.ts'
import { startFake, startGateway, startUnchecked } from '../../helpers/gateway.ts'
import { listen } from '../../helpers/listen.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { CLI, hasTerminal, runCli, runInTerminal, runShell, temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, AS_ALICE, BOB, publish, unixNow } from '../../helpers/seller.ts'
import { specBody } from '../../helpers/specs.ts'

type Printed = {
  listing_id: string
  offer_resource: Record<string, unknown>
  _meta: { registry: string; also_in: string[] }
}

const printed = (stdout: string): Printed[] => JSON.parse(stdout)
const ids = (stdout: string): string[] => printed(stdout).map(({ listing_id }) => listing_id)

test.serial('listings: each listing is printed once, byte for byte, with _meta', async (t) => {
  const odd = listingText({ listing_id: 'odd' }).replace(
    '"gpu_count":1',
    '"gpu_count":1.0,"big":9007199254740993',
  )
  const shared = listingText({ listing_id: 'shared', created_at: '2026-11-19T00:00:00' })
  const one = await startFake(t, { items: [odd, shared] })
  const two = await startFake(t, { items: [shared] })
  const { code, stdout, stderr } = await runCli(['listings', '-r', `${one.url},${two.url}`])
  t.is(code, 0)
  t.deepEqual(ids(stdout), ['odd', 'shared'])
  t.true(stdout.includes(`${odd.slice(0, -1)},"_meta":{"registry":"${one.url}","also_in":[],"stale":false`))
  t.deepEqual(printed(stdout)[1]?._meta.also_in, [two.url])
  t.regex(stderr, new RegExp(`${one.url}: ok, 2 matched`))
})

test.serial('listings: all Registries are queried at once', async (t) => {
  const waiting: (() => void)[] = []
  const url = await listen(t, (_request, response) => {
    waiting.push(() => response.end(envelopeText([], 0)))
    // No answer is sent before all three requests are here.
    if (waiting.length >= 3) for (const answer of waiting) answer()
  })
  const urls = ['a', 'b', 'c'].map((path) => `${url}/${path}`)
  const { code, stdout } = await runCli(['listings', '-r', urls.join(), '--discovery-timeout', '20'])
  t.is(code, 0)
  t.is(stdout, '[]\n')
})

test.serial('listings: a Registry that hangs costs only its own deadline', async (t) => {
  const well = await startFake(t, { items: [listingText()] })
  const hung = await startFake(t, { script: [{ kind: 'hang_mid_body' }] })
  const { code, stdout, stderr } = await runCli([
    'listings',
    '-r',
    well.url,
    '-r',
    hung.url,
    '--discovery-timeout',
    '2',
  ])
  t.is(code, 3)
  t.deepEqual(ids(stdout), ['listing-1'])
  t.regex(stderr, new RegExp(`${hung.url} is unavailable: it did not answer in time`))
})

test.serial('listings, facets, mine: --discovery-timeout also holds where everything is read', async (t) => {
  const hung = await startFake(t, { script: [{ kind: 'hang' }] })
  for (const command of [['listings', '--all'], ['facets'], ['mine']]) {
    const args = [...command, '-r', hung.url, '--discovery-timeout', '0.2']
    const { code, stdout, stderr } = await runCli(args, { env })
    t.deepEqual([code, stdout], [4, ''], stderr)
    t.regex(stderr, /no answer within .*\d+ ms/)
  }
})

test.serial('listings: without any answer the exit code is 4, or 77 if all need a key', async (t) => {
  const dead = deadUrl()
  const gated = await startFake(t, {
    script: [{ kind: 'status', status: 401, body: '{"detail":"API key required"}' }],
  })
  const none = await runCli(['listings', '-r', dead])
  t.deepEqual([none.code, none.stdout], [4, ''])
  const barred = await runCli(['listings', '-r', gated.url])
  t.deepEqual([barred.code, barred.stdout], [77, ''])
  t.regex(barred.stderr, /\[registry\.auth\]/)
  t.is((await runCli(['listings', '-r', `${gated.url},${dead}`])).code, 4)
})

test.serial('listings: a key is sent only to its own URL; a near miss is a warning', async (t) => {
  const [one, two, near] = await Promise.all([startFake(t), startFake(t), startFake(t)])
  const config = temporaryFile(
    t,
    'buyer.toml',
    `[registry]
urls = ["${one.url.replace('http:', 'HTTP:')}", "${two.url}", "${near.url}"]
[registry.auth]
"${one.url}" = "key-one"
"${near.url}/" = "key-near"
`,
  )
  const { code, stderr } = await runCli(['listings', '--config', config])
  t.is(code, 0)
  t.is(one.requests[0]?.headers.authorization, 'Bearer key-one')
  t.is(two.requests[0]?.headers.authorization, undefined)
  t.is(near.requests[0]?.headers.authorization, undefined)
  t.true(stderr.includes(`${near.url}/ is not sent to ${near.url}`))
  t.false(stderr.includes('key-near'))
})

test.serial('listings: limit and offset apply to the merge; --all reads every page', async (t) => {
  const one = await startFake(t, { items: listingTexts('a', 410) })
  const two = await startFake(t, { items: listingTexts('b', 3) })
  const both = ['-r', `${one.url},${two.url}`]
  const page = await runCli(['listings', ...both, '--limit', '3', '--offset', '1', '--ndjson'])
  t.deepEqual(
    page.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).listing_id),
    ['b-0000', 'a-0001', 'b-0001'],
  )
  const all = await runCli(['listings', ...both, '--all'])
  t.is(new Set(ids(all.stdout)).size, 413)
})

test.serial('listings: a closed pipe is not an error', async (t) => {
  const registry = await startFake(t, { items: listingTexts('many', 200) })
  const { code, stdout, stderr } = await runShell(`${CLI} listings --all -r ${registry.url} | head -c 1`)
  t.deepEqual([code, stdout], [0, '['])
  t.notRegex(stderr, /EPIPE|Error/)
})

test.serial('listing: the first Registry with the listing shows it', async (t) => {
  const own = await startRegistry(t)
  await publish(own.url, ALICE, { listing_id: 'a/b', offer_resource: { gpu_model: 'H200' } })
  const other = await startRegistry(t)
  const found = await runCli(['listing', 'a/b', '-r', `${other.url},${own.url}`])
  t.is(found.code, 0)
  t.is(JSON.parse(found.stdout)._meta.registry, own.url)
  const missing = await runCli(['listing', 'nope', '-r', own.url])
  t.deepEqual([missing.code, missing.stdout], [1, ''])
  t.is((await runCli(['listing', 'a/b', '-r', `${deadUrl()},${own.url}`])).code, 3)
  // A worse one decides nothing about it.
  t.is((await runCli(['listing', 'a/b', '-r', `${own.url},${deadUrl()}`])).code, 0)
})

test.serial('listing: _meta names the Registry behind a gateway, and the publisher', async (t) => {
  const market = await startRegistry(t)
  await publish(market.url, ALICE, { listing_id: 'x', offer_resource: { gpu_model: 'H200' } })
  const gateway = await startRegistry(t, {
    toml: `[[upstreams]]\nname = "market"\nurl = "${market.url}"\nallow_private_addresses = true\n`,
  })
  const publisher = ALICE.address.toLowerCase()
  const through = await runCli(['listings', '-r', gateway.url])
  t.like(printed(through.stdout)[0]?._meta, { registry: `${gateway.url}/market`, publisher })
  const direct = await runCli(['listing', 'x', '-r', market.url])
  t.like(JSON.parse(direct.stdout)._meta, { registry: market.url, publisher })
})

test.serial('listing: a possibly better copy or a disputed storefront is a warning', async (t) => {
  const seller = `0x${'a'.repeat(40)}`
  const trusted = await startFake(t, {
    items: listingTexts('known', 1),
    publishers: [[1, seller, 'http://honest.example/']],
    listingScript: { kind: 'status', status: 500 },
  })
  const other = await startFake(t, {
    items: [listingText({ listing_id: 'x', storefront_url: 'http://127.0.0.1:1/' })],
    publishers: [[1, seller]],
  })
  const gateway = await startGateway(t, [
    { name: 'trusted', url: trusted.url },
    { name: 'other', url: other.url },
  ])
  await gateway.get('/listings')
  const better = /warning: a Registry that may have a better copy of this listing did not answer\./
  for (const command of ['listing', 'review']) {
    const viaGateway = await runCli([command, 'x', '-r', gateway.url])
    t.is(viaGateway.code, 3, viaGateway.stderr)
    t.regex(viaGateway.stderr, better)
    t.true(
      viaGateway.stderr.includes(
        `warning: ${gateway.url}/trusted has this publisher at another storefront. Check the storefront before you pay.`,
      ),
      viaGateway.stderr,
    )
    const beside = await runCli([command, 'x', '-r', `${trusted.url},${other.url}`])
    t.regex(beside.stderr, better)
    const worse = await runCli([command, 'x', '-r', `${other.url},${trusted.url}`])
    t.notRegex(worse.stderr, /Warning/)
  }
})

test.serial('listing, review: a better Registry that could not be asked is a warning', async (t) => {
  const { url } = await startUnchecked(t)
  for (const command of ['listing', 'review']) {
    const { stderr } = await runCli([command, 'small-0000', '-r', url])
    const warning = `warning: ${url}/large could not be asked, and may have other terms, or have it closed.`
    t.true(stderr.includes(warning), stderr)
  }
})

test.serial(
  'listings: a source behind a gateway that is held in part is counted, its unchecked listings, too',
  async (t) => {
    const { code, stderr } = await runCli(['listings', '-r', (await startUnchecked(t)).url])
    t.is(code, 3, stderr)
    t.regex(stderr, /^\[registry\] http.*\/large is held in part: 100 of 300$/m)
    t.regex(
      stderr,
      /^\[registry\] 1 listing unchecked: a better Registry, named in _meta\.unchecked, could not be asked/m,
    )
  },
)

test.serial('listings: sources that a gateway misses are printed; the output is partial', async (t) => {
  const well = await startFake(t, { items: [listingText()] })
  const gateway = await startGateway(t, [
    { name: 'well', url: well.url },
    { name: 'gone', url: deadUrl() },
  ])
  const { code, stdout, stderr } = await runCli(['listings', '-r', gateway.url])
  t.is(code, 3)
  t.deepEqual(ids(stdout), ['listing-1'])
  t.true(
    stderr.includes(
      `[registry] ${gateway.url}/gone is unavailable: it refused the connection (connection_refused)\n`,
    ),
    stderr,
  )
})

test.serial('listings: a gateway without any source exits 4 and names its sources', async (t) => {
  const gateway = await startGateway(t, [{ name: 'gone', url: deadUrl() }])
  const { code, stdout, stderr } = await runCli(['listings', '-r', gateway.url])
  t.deepEqual([code, stdout], [4, ''])
  t.regex(stderr, /answered 503: gone is unavailable: it refused the connection \(connection_refused\)/)
})

const env = AS_ALICE
const ONE = '7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01'
const TWO = '7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a02'
const BARE = 'b7c1f2aa1f0e4f538f1a4a1f6f0c9d02'

test.serial('ids: the unique beginning of an id finds its listing', async (t) => {
  const { url, get } = await startRegistry(t)
  for (const listing_id of [ONE, TWO, BARE, 'listing-10']) await publish(url, ALICE, { listing_id })
  await publish(url, BOB, { listing_id: 'c0ffee00-6a0e-4e0b-9a53-0b6a4f7f2a03' })
  const run = (...args: string[]) => runCli([...args, '-r', url], { env })
  const shown = await run('listing', 'b7c1f2aa…')
  t.is(JSON.parse(shown.stdout).listing_id, BARE)
  t.regex(shown.stderr, new RegExp(`b7c1f2aa is ${BARE}`))
  const several = await run('listing', '7f0c1c1e')
  t.is(several.code, 1)
  t.regex(several.stderr, new RegExp(`^entrepot: 2 ids begin with '7f0c1c1e': ${TWO}, ${ONE}$`, 'm'))
  const short = await run('listing', 'b7c1f2a')
  t.regex(short.stderr, /^entrepot: listing 'b7c1f2a' is not in that Registry$/m)

  const unsure = await runCli(['delete', 'b7c1f2aa', '-r', `${url},${deadUrl()}`], { env })
  t.deepEqual([unsure.code, unsure.stdout], [1, ''])
  t.regex(unsure.stderr, /^entrepot: not all of your listings could be read, .*: name the whole id$/m)
  t.is((await get(`/listings/${BARE}`)).status, 200)
  t.is((await run('update', 'b7c1f2aa', '--status', 'closed')).code, 0)
  t.is(((await get(`/listings/${BARE}`)).json().listing as { status: string }).status, 'closed')
  t.is((await run('delete', '7f0c1c1e-6a0e')).code, 1)
  t.is((await run('delete', `${ONE.slice(0, -1)}1`)).code, 0)
  t.is((await run('delete', '7f0c1c1e')).code, 0)
  t.is((await get(`/listings/${TWO}`)).status, 404)
  // Chosen ids are taken as they are, and so are those of other wallets.
  for (const id of ['listing-1', 'c0ffee00']) t.is((await run('delete', id)).code, 1, id)
  t.is((await get('/listings/listing-10')).status, 200)
})

const withTerminal = hasTerminal ? test.serial : test.skip

withTerminal('mine: ids are never cut, however narrow the terminal is', async (t) => {
  const { url } = await startRegistry(t)
  await publish(url, ALICE, { listing_id: ONE, status: 'closed' })
  const { stdout } = await runInTerminal(['mine', '-r', url], { env, columns: 60 })
  t.regex(stdout, new RegExp(`${ONE} +closed +\\d+s +127`))
})

test.serial(
  'review: a private storefront of a listing that a Registry fronts is not asked, however it is written',
  async (t) => {
    const asked: string[] = []
    const storefront = await listen(t, (request, response) => {
      asked.push(request.url ?? '')
      response.end('{}')
    })
    const { port } = new URL(storefront)
    const hosts = ['127.0.0.1', '127.1', '0x7f000001', 'localhost', '[::ffff:127.0.0.1]', '[::1]']
    const market = await startFake(t, {
      items: hosts.map((host, n) =>
        listingText({ listing_id: `l${n}`, publisher_id: n, storefront_url: `http://${host}:${port}/` }),
      ),
    })
    const gateway = await startGateway(t, [{ name: 'market', url: market.url }])
    for (const [n, host] of hosts.entries()) {
      const { code, stderr } = await runCli(['review', `l${n}`, '-r', gateway.url])
      t.is(code, 3, host)
      t.regex(stderr, /private address.*would say is null/, host)
    }
    t.deepEqual(asked, [])
    t.is((await runCli(['review', 'l0', '-r', market.url])).code, 0, 'its own')
  },
)

test.serial('review: what the storefront says, beside the price in money and the rent in days', async (t) => {
  const seen: string[] = []
  let [shop, offer]: object[] = [
    { paused: false, resource_count: 3 },
    { status: 'open', paused: false },
  ]
  const storefront = await listen(t, (request, response) => {
    seen.push(`${request.url} ${request.headers.authorization ?? 'no key'}`)
    response.end(JSON.stringify(request.url === '/shop/api/v1/system/status' ? shop : offer))
  })
  const { url } = await startRegistry(t)
  const [machine, credits] = [VM_EXAMPLES[0]!, API_CREDIT_EXAMPLES[0]!]
  await publish(url, ALICE, { ...machine, storefront_url: `${storefront}/shop/` })
  await publish(url, BOB, { ...credits, storefront_url: 'http://127.0.0.1:1/' })
  const review = async (id: string) => {
    const { code, stdout, stderr } = await runCli(['review', id, '-r', url, '--table'])
    return { code, stderr, review: parseYaml(stdout) }
  }

  const free = await review(machine.listing_id)
  t.is(free.code, 0)
  t.like(free.review, {
    seller: ALICE.address.toLowerCase(),
    storefront: `${storefront}/shop/`,
    is_free: true,
    negotiates: false,
    resources: 3,
  })
  t.regex(free.review.prices[0], /^\d+\.\d\d test USDC\/GPU·h$/)
  t.regex(free.review.longest_rent, /^\d+ days?$/)
  t.deepEqual(seen.sort(), [
    `/shop/api/v1/listings/${machine.listing_id} no key`,
    '/shop/api/v1/system/status no key',
  ])
  shop = { paused: true, checks: { negotiation_strategy: 'midpoint' } }
  t.like((await review(machine.listing_id)).review, { is_free: false, negotiates: true, resources: null })
  ;[shop, offer] = [{}, { status: 'closed' }]
  t.is((await review(machine.listing_id)).review.is_free, false)

  const silent = await review(credits.listing_id)
  t.is(silent.code, 3)
  t.like(silent.review, { is_free: null, negotiates: null, resources: null })
  t.regex(
    silent.stderr,
    /\[storefront\] http:\/\/127\.0\.0\.1:1\/.*it refused the connection.*would say is null/,
  )
  t.is((await review('nope')).code, 1)

  const login = await startServer(t, { [`/api/v1/listings/${credits.listing_id}`]: '<p>Sign in' })
  await publish(url, BOB, { ...credits, storefront_url: login }, { timestamp: unixNow() + 1 })
  const page = await review(credits.listing_id)
  t.is(page.code, 3)
  t.regex(page.stderr, /the answer is not a JSON object/)
})

test.serial(
  'review: as JSON it is a presentation record, of each kind, of what is stated alone',
  async (t) => {
    let shop: object = { agent_id: 'Alice Compute', resource_count: 3 }
    const storefront = await listen(t, (request, response) => {
      response.end(JSON.stringify(request.url === '/api/v1/system/status' ? shop : { status: 'open' }))
    })
    const { url } = await startRegistry(t)
    const money = (value: string, per: string) => [{ ...escrow(value, { per }), escrow_address: '0xaa' }]
    const offer_resource = {
      gpu_model: 'H200',
      gpu_count: 8,
      region: 'Frankfurt, DE',
      vcpu_count: 64,
      ram_gb: 512,
    }
    const terms = { accepted_escrows: money('16800000', 'hour'), max_duration_seconds: 604_800 }
    const machine = { listing_id: 'vm', storefront_url: storefront, offer_resource, ...terms }
    await publish(url, ALICE, { ...machine, oracle_address: '0x2' })
    const credits = { service_name: 'weather', base_url: 'https://api.example/', resource_id: 'credits-1' }
    const sold = { accepted_escrows: money('2000000', 'token') }
    await publish(url, BOB, {
      listing_id: 'api',
      storefront_url: storefront,
      offer_resource: credits,
      ...sold,
    })
    await publish(url, BOB, { listing_id: 'bare' })
    const review = async (id: string) => {
      const { code, stdout, stderr } = await runCli(['review', id, '-r', url, '--json'])
      t.is(code, 0, stderr)
      return presentationRecord.parse(JSON.parse(stdout))
    }

    const vm = await review('vm')
    const rate = { decimal: '2.1', currency: 'USDC', display: '2.10 USDC' }
    t.like(vm, {
      market_data: true,
      listing_id: 'vm',
      seller: 'Alice Compute',
      publisher: ALICE.address.toLowerCase(),
      storefront,
      registry: url,
      kind: 'virtual-machine',
      domain: 'virtual-machine',
      schema: 'arkhai.compute.virtual-machine@1.0.0',
      location: 'Frankfurt, DE',
      availability: { asserted_by: 'seller', state: 'asserted-available' },
      pricing: {
        mode: 'listed',
        advertised_rate: rate,
        advertised_unit: 'GPU·h',
        quantity: { decimal: '8', unit: 'GPU', display: '8 GPUs' },
        duration: { decimal: '7', unit: 'day', display: '7 days' },
      },
      settlement: { asset_class: 'ERC-20 token', network: 'base', mechanism: 'escrow 0xaa' },
      delivery: { modality: 'SSH lease' },
      resource: {
        hardware: '8 × H200',
        compute: '64 vCPU',
        memory: '512 GB RAM',
        network: null,
        access: 'SSH',
      },
    })
    t.deepEqual(vm.pricing.constraints, ['at most 7 days', 'oracle 0x2'])
    const [advertised, ...hidden] = vm.negotiation
    t.like(advertised, { status: 'shown', actor: 'seller', occurred_at: vm.published_at, amount: rate })
    for (const { stage: _, status, ...members } of hidden)
      t.deepEqual([status, ...Object.values(members)], ['not-applicable', null, null, null, null, null])
    const statuses = Object.values(vm.lifecycle).map(({ status }) => status)
    const later = Array(4).fill('not-started')
    t.deepEqual(statuses, ['current', 'not-started', 'not-applicable', ...later])

    const api = await review('api')
    t.like(api, {
      kind: 'api-credits',
      schema: 'arkhai.compute.api-credits@1.1.0',
      pricing: { advertised_rate: { display: '2.00 USDC' }, advertised_unit: 'credit', duration: null },
      delivery: { modality: 'seller-issued bearer credential', capacity: { status: 'not-applicable' } },
    })
    t.deepEqual(api.resource, {
      service: 'weather',
      model: null,
      quota: 'credits-1',
      access: 'https://api.example/',
      metering: '2.00 USDC per credit',
    })

    shop = { paused: true, checks: { negotiation_strategy: 'midpoint' } }
    const paused = await review('vm')
    t.like(paused, { availability: { state: null }, pricing: { mode: 'configured-negotiation' } })
    t.is(paused.lifecycle.countered.status, 'not-started')
    t.like(await review('bare'), { pricing: { advertised_rate: null, quantity: null }, location: null })
  },
)

test.serial(
  'review: the schema of a record is that of the filter spec of its Registry, where that has a version',
  async (t) => {
    const domain = 'arkhai.compute.virtual-machine@1.0.0'
    for (const [named, schema] of [
      ['else.compute.gpus@2.1.0', 'else.compute.gpus@2.1.0'],
      ['vms.compute', domain],
    ] as const) {
      const filterSpec = specBody('e', [], named)
      const { url } = await startFake(t, { items: [listingText({ listing_id: 'vm' })], filterSpec })
      const gateway = await startGateway(t, [{ name: 'a', url }])
      for (const [asked, shown] of [
        [url, schema],
        [gateway.url, domain],
      ] as const) {
        const { stdout } = await runCli(['review', 'vm', '-r', asked, '--json'])
        t.is(presentationRecord.parse(JSON.parse(stdout)).schema, shown, `${named} ${asked}`)
      }
    }
  },
)

test('listings, facets: copies of a gateway and the oldest reading are named', async (t) => {
  const away = { registry: 'away', also_in: [], stale: true }
  const items = [
    listingText({ listing_id: 'well', _meta: { registry: 'well', also_in: [], stale: false } }),
    listingText({ listing_id: 'copy', _meta: away }),
  ]
  const gateway = await startFake(t, { items, kind: 'gateway' })
  for (const command of ['listings', 'facets']) {
    const { stderr } = await runCli([command, '-r', `${gateway.url},${deadUrl()}`, '--table'])
    t.regex(stderr, /^\[registry\] 1 of 2 answered · http.*\/away: copy, oldest reading \d+ s old$/m)
  }
  const { stdout } = await runCli(['facets', '-r', gateway.url, '--table'])
  t.regex(stdout, /1 of 1 answered · http.*\/away: copy, the oldest reading is \d+ s old\./)
})

test.serial('listings: in place of nothing, the closest listings with what differs', async (t) => {
  const { url } = await startRegistry(t)
  await publish(url, ALICE, VM_EXAMPLES[0]!)
  const { gpu_model, region } = VM_EXAMPLES[0]!.offer_resource as Record<string, string>
  const args = ['listings', '-r', url, '--filter', `gpu_model=${gpu_model}`, '--filter', 'region=Tokyo, JP']
  const { code, stdout, stderr } = await runCli(args)
  t.deepEqual([code, stdout], [0, '[]\n'])
  const closest = `[listing] ${VM_EXAMPLES[0]!.listing_id}  ${gpu_model}  ${region}  2.10 test USDC/GPU·h: region ${region}, not Tokyo, JP\n`
  t.true(stderr.includes(`[listing] the closest differ in one thing each:\n${closest}`), stderr)
  const quiet = await runCli([...args, '--quiet'])
  t.notRegex(quiet.stderr, /closest/)
})

test.serial(
  'listings, facets: a set that splits a value with a comma is answered, with the value beside it',
  async (t) => {
    const { url } = await startRegistry(t)
    await publish(url, ALICE, VM_EXAMPLES[0]!)
    const { region = '' } = VM_EXAMPLES[0]!.offer_resource as Record<string, string>
    for (const command of ['listings', 'facets']) {
      const ask = (set: string) => runCli([command, '-r', url, '--filter', `region=${set}`])
      const split = await ask(`in:[${region}]`)
      t.is(split.code, 0)
      t.true(split.stderr.includes(`; 1 match region=${region}.`), split.stderr)
      const { code, stdout } = await ask(`in:${JSON.stringify([region])}`)
      t.is(code, 0)
      t.true(stdout.includes(region.replace(/,.*/, '')))
    }
  },
)

test.serial('review, listing, facets: --table prints for people in a pipe, too', async (t) => {
  const { url } = await startRegistry(t)
  const [machine] = VM_EXAMPLES
  await publish(url, ALICE, machine!)
  const shown = async (...args: string[]) => (await runCli([...args, '-r', url, '--table'])).stdout
  t.regex(
    await shown('review', machine!.listing_id),
    /^prices:\n {2}- \d+\.\d\d test USDC\/GPU·h\n.*longest_rent: \d+ day/ms,
  )
  const older = listingText({ publisher_id: 1, created_at: '2026-11-02T10:00:00', listing_id: 'older' })
  const far = await startFake(t, { items: [older], publishers: [[1, ALICE.address]] })
  const both = await runCli(['listing', machine!.listing_id, '-r', `${url},${far.url}`, '--table'])
  t.true(
    both.stderr.includes(`[seller] 2 open listings since 2026-11-02, in ${url} (1), ${far.url} (1)\n`),
    both.stderr,
  )
  t.regex(await shown('listing', machine!.listing_id), /USDC\/GPU·h {2}up to \d+ days? {2}published /)
  t.regex(
    await shown('facets'),
    /^1 listing by 1 seller, none with a price in a known token\..*\n.*^PRICES IN +ON +OFFERS/ms,
  )
})
