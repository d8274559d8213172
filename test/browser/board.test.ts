import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import anyTest, { type ExecutionContext, type TestFn } from 'ava'
import type { Browser } from 'playwright-core'
import { systemClock } from '../../src/domain/clock.ts'
import { openWatched, seriousFindings, shoot } from '../helpers/browser-page.ts'
import { startChromium } from '../helpers/chromium.ts'
import { deadUrl, listingText, listingTexts } from '../helpers/fake-registry.ts'
import { startFake, startGateway } from '../helpers/gateway.ts'
import { openMarket } from '../helpers/market.ts'
import { ALICE, BOB } from '../helpers/seller.ts'

const test = anyTest as TestFn<{ browser: Browser }>

test.before(async (t) => {
  t.timeout(600_000, 'Chromium may have to be installed')
  t.context.browser = await startChromium()
})

test.after.always((t) => t.context.browser?.close())

const machine = (id: string, offer: object, more: object = {}) => ({
  listing_id: id,
  storefront_url: 'https://alice.example/',
  offer_resource: { gpu_model: 'H200', gpu_count: 8, region: 'Tokyo, JP', ...offer },
  accepted_escrows: [
    {
      chain_name: 'base_sepolia',
      escrow_address: '0x2b5ad5c4795c026514f8317c7a215e218dccd6cf',
      literal_fields: { token: '0x036cbd53842c5426634e7929541ec2318f3dcf7e' },
      rates: [{ field: 'amount', per: 'hour', value: '123456789012345678901' }],
    },
  ],
  demands: [],
  ...more,
})

/** A gateway over two real Registries with signed listings; the second has some of what the first has. */
const openFederation = async (t: ExecutionContext) => {
  const [east, west] = [await openMarket(t), await openMarket(t)]
  for (let n = 0; n < 3; n++)
    await east.publish(machine(`east-${n}`, { gpu_model: 'A100', vcpu_count: 16 * (n + 1) }))
  await east.publish(machine('shared', { gpu_count: 4 }))
  await west.publish(machine('shared', { gpu_count: 2 }))
  await east.publish(machine('clash', {}))
  await west.publish(machine('clash', {}, { storefront_url: 'https://bob.example/' }), undefined, BOB)
  await west.publish(machine('west-0', {}, { storefront_url: 'https://bob.example/' }), undefined, BOB)
  const gateway = await startGateway(t, [
    { name: 'east', url: east.url },
    { name: 'west', url: west.url },
  ])
  return { east, west, gateway }
}

test.serial('a reader browses, filters, opens a sheet and goes back; the address says it all', async (t) => {
  const { gateway } = await openFederation(t)
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await page.getByText('7 listings match.').waitFor()
  t.is(await page.locator('.listings tbody tr').count(), 7)
  t.is(await page.locator('.listings tbody tr', { hasText: 'same id' }).count(), 2)
  const shared = page.locator('.listings tbody tr', { hasText: '4 × H200' })
  t.regex((await shared.textContent()) ?? '', /differs.*123,456,789,012,345,678,901.*east also in west/s)

  await page.locator('.order select').selectOption('price')
  t.is(new URL(page.url()).hash, '#order=price')
  await page.goBack()

  await page.getByText('gpu model', { exact: true }).locator('..').locator('summary').click()
  await page.getByLabel('A100', { exact: true }).check()
  await page.getByText('3 listings match.').waitFor()
  await page.getByLabel('vcpu count, at least').fill('32')
  await page.keyboard.press('Tab')
  await page.getByText('2 listings match.').waitFor()
  t.is(new URL(page.url()).search, '?gpu_model=A100&vcpu_count_min=32')
  t.deepEqual(
    await page.locator('.sources li').allTextContents(),
    (await page.locator('.sources li').allTextContents()).filter((text) => /loaded/.test(text)),
  )

  await page.getByRole('button', { name: '8 × A100' }).first().focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  t.is(new URL(page.url()).hash, '#listing=east-2&registry=east')
  t.is(await page.getByRole('list', { name: 'Lifecycle' }).getByRole('listitem').count(), 7)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  await page.goBack()
  await page.getByRole('dialog').waitFor()
  await page.goBack()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.goBack()
  await page.getByText('3 listings match.').waitFor()
  t.is(await page.getByLabel('vcpu count, at least').inputValue(), '')
  await page.goForward()
  await page.getByText('2 listings match.').waitFor()
  t.deepEqual(page.faults, [])
})

test.serial('a view that was sent opens as it was, sheet and all', async (t) => {
  const { gateway } = await openFederation(t)
  const page = await openWatched(
    t,
    t.context.browser,
    `${gateway.url}/?gpu_model=A100#listing=west-0&registry=west`,
  )
  const sheet = page.getByRole('dialog')
  await sheet.waitFor()
  t.regex((await sheet.textContent()) ?? '', new RegExp(BOB.address, 'i'))
  t.is(await page.getByText('3 listings match.').count(), 1)
  t.deepEqual(page.faults, [])
})

test.serial(
  'the sheet shows the very text that the gateway serves, and the question for a terminal',
  async (t) => {
    const exact =
      '{"listing_id":"exact","offer_resource":{"gpu_model":"H200","sla":99.0,"serial":9007199254740993,"note":"\\u202e"},"created_at":"2026-11-20T15:33:44.792803","status":"open"'
    const fake = await startFake(t, { items: [`${exact}}`] })
    const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
    const page = await openWatched(t, t.context.browser, `${gateway.url}/?region=it%27s%20$(here)`)
    await page.getByText('No listing matches').waitFor()
    await page.getByText('The same question elsewhere').click()
    t.deepEqual(await page.locator('.elsewhere pre').allTextContents(), [
      `curl -g '${gateway.url}/listings?region=it%27s+%24%28here%29'`,
      `entrepot listings -r ${gateway.url} --filter='region=it'\\''s $(here)'`,
    ])
    await page.goto(`${gateway.url}/#listing=exact`)
    const raw = (await page.getByLabel('JSON of the listing').textContent()) ?? ''
    t.true(raw.startsWith(`${exact},"_meta":`), raw)
    t.deepEqual(page.faults, [])
  },
)

test.serial('a source that is lost is told in words, and nothing looks complete that is not', async (t) => {
  const near = await startFake(t, { items: listingTexts('near', 3) })
  const far = await startFake(t, { items: listingTexts('far', 2) })
  const gateway = await startGateway(t, [
    { name: 'near', url: near.url },
    { name: 'far', url: far.url },
  ])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await page.getByText('5 listings match.').waitFor()
  t.is(await page.getByRole('alert').count(), 0)

  await far.close()
  await page.getByLabel('gpu count, at least', { exact: true }).fill('1')
  await page.keyboard.press('Tab')
  const banner = page.getByRole('alert')
  await banner.waitFor()
  t.regex(
    (await banner.textContent()) ?? '',
    /not complete\..*far refused the connection\. Its listings are missing/s,
  )
  t.is(await page.getByText('3 listings match in what could be read.').count(), 1)
  t.is(await page.locator('.source[data-state=unavailable]').count(), 1)

  await page.getByLabel('gpu count, at least', { exact: true }).fill('2')
  await page.keyboard.press('Tab')
  await page.getByText('No listing was found, but not every Registry has answered.').waitFor()
  t.is(await page.locator('.listings').count(), 0)
  t.deepEqual(page.faults, [])
})

test.serial('an old copy is shown as one, and is no gap', async (t) => {
  let ahead = 0
  const clock = { ...systemClock, now: () => systemClock.now() + ahead }
  const fake = await startFake(t, { items: listingTexts('kept', 2) })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }], { clock })
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await page.getByText('2 listings match.').waitFor()
  await fake.close()
  ahead = 120_000
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.locator('.source', { hasText: /old copy.*2 min ago/ }).waitFor()
  t.is(await page.locator('.listings tbody tr', { hasText: 'old copy' }).count(), 2)
  t.is(await page.getByRole('alert').count(), 0)
  t.deepEqual(page.faults, [])
})

test.serial('the board works below a path of a proxy', async (t) => {
  const fake = await startFake(t, { items: listingTexts('far', 2) })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const proxy = createServer((incoming, outgoing) => {
    if (!incoming.url?.startsWith('/hub/')) return outgoing.writeHead(404).end()
    const target = request(
      `${gateway.url}${incoming.url.slice('/hub'.length)}`,
      { headers: incoming.headers },
      (reply) => {
        outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(outgoing)
      },
    )
    return target.end()
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => proxy.close().closeAllConnections())
  const { port } = proxy.address() as AddressInfo
  const page = await openWatched(t, t.context.browser, `http://127.0.0.1:${port}/hub/`)
  await page.getByText('2 listings match.').waitFor()
  await page.getByText('The same question elsewhere').click()
  const [curl] = await page.locator('.elsewhere pre').allTextContents()
  t.is(curl, `curl -g http://127.0.0.1:${port}/hub/listings`)
  t.deepEqual(page.faults, [])
})

test.serial('where no source answers there is no list, but the reasons and a way to try again', async (t) => {
  const far = await startFake(t, { items: listingTexts('far', 2), script: [{ kind: 'status', status: 503 }] })
  const gateway = await startGateway(
    t,
    [
      { name: 'far', url: far.url },
      { name: 'gone', url: await deadUrl() },
    ],
    { more: '[registry]\nenabled = false\n' },
  )
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  const banner = page.getByRole('alert')
  await banner.waitFor()
  const text = (await banner.textContent()) ?? ''
  t.regex(text, /There is no answer/)
  t.regex(text, /far (answered with status 503|has failed repeatedly)/)
  t.regex(text, /gone refused the connection/)
  t.is(await page.locator('.listings').count(), 0)
  t.is(await page.getByText('No listings could be read.').count(), 1)
  t.is(await page.getByRole('button', { name: 'Try again' }).count(), 1)
  t.deepEqual(page.faults, [])
})

test.serial('a key opens what is private; it stays in the tab, and out of every address', async (t) => {
  const fake = await startFake(t, { items: listingTexts('secret', 2) })
  const gateway = await startGateway(
    t,
    [{ name: 'hidden', url: fake.url, settings: 'visibility = "private"' }],
    {
      environment: { REGISTRY_REQUIRE_READ_API_KEY: 'on', REGISTRY_BOOTSTRAP_API_KEY: 'a-reader-key' },
    },
  )
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.getByRole('alert').getByText('API key required').waitFor()
  await page.getByLabel('Reader key').fill('a-reader-key')
  await page.keyboard.press('Enter')
  await page.getByText('2 listings match.').waitFor()
  await page.reload()
  await page.getByText('2 listings match.').waitFor()
  t.true(asked.length > 3)
  t.false([page.url(), ...asked].join().includes('a-reader-key'))
  t.false((await page.content()).includes('a-reader-key'))
  t.is(await page.evaluate('localStorage.length'), 0)
  const other = await page.context().newPage()
  await other.goto(gateway.url)
  await other.getByText('API key required').waitFor()
  await page.getByRole('button', { name: 'Forget it' }).click()
  await page.getByText('API key required').waitFor()
  t.is(await page.evaluate('sessionStorage.length'), 0)
  t.deepEqual(page.faults, [])
})

test.serial('a plain Registry has the same board, paged by offset', async (t) => {
  const registry = await openMarket(t)
  for (let n = 0; n < 130; n++) await registry.publish(machine(`one-${n}`, {}), undefined, ALICE)
  const page = await openWatched(t, t.context.browser, `${registry.url}/`)
  await page.getByText('130 listings match.').waitFor()
  t.is(await page.locator('.sources').count(), 0)
  t.is(await page.locator('.listings tbody tr').count(), 100)
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('101 to 130 of 130').waitFor()
  t.is(await page.locator('.listings tbody tr').count(), 30)
  t.true(await page.getByRole('button', { name: 'Next' }).isDisabled())
  t.deepEqual(page.faults, [])
})

test.serial(
  '10,000 listings: only a page of them is in the document, and no task keeps the reader waiting',
  async (t) => {
    const offer = {
      offer_resource: { gpu_model: 'H100', gpu_count: 8, region: 'Tokyo, JP' },
      accepted_escrows: machine('x', {}).accepted_escrows,
    }
    const fake = await startFake(t, { items: listingTexts('many', 10_000, offer) })
    const gateway = await startGateway(t, [{ name: 'big', url: fake.url }])
    const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
    await page.getByText('10,000 listings match.').waitFor()
    const first = await page.longestTask()
    await page.getByRole('button', { name: 'Read all' }).click()
    await page.getByText('Of all 10,000 that match.').waitFor({ timeout: 60_000 })
    const all = await page.longestTask()
    for (let n = 0; n < 5; n++) await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('501 to 600 of 10,000').waitFor()
    const paging = await page.longestTask()
    t.is(await page.locator('.listings tbody tr').count(), 100)
    t.log(`longest tasks: first page ${first} ms, reading all ${all} ms, paging ${paging} ms`)
    // Below 100 ms on a machine to itself; here other tests share its cores.
    t.true(Math.max(first, all, paging) < 1000)
    t.deepEqual(page.faults, [])
  },
)

test.serial(
  'axe finds nothing serious: light and dark, wide and narrow, with a banner and a sheet',
  async (t) => {
    const { east } = await openFederation(t)
    const gateway = await startGateway(t, [
      { name: 'east', url: east.url },
      { name: 'gone', url: await deadUrl() },
    ])
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 1280],
      ['light', 390],
    ] as const) {
      const page = await openWatched(t, t.context.browser, `${gateway.url}/?gpu_model=A100`, {
        colorScheme,
        viewport: { width, height: 800 },
      })
      await page.getByText('3 listings match').waitFor()
      for (const summary of await page.locator('details:not([open]) > summary').all())
        if (await summary.isVisible()) await summary.click()
      t.deepEqual(await seriousFindings(page), [], `${colorScheme} ${width}`)
      await shoot(page, `board-${colorScheme}-${width}`)
      await page.locator('.open').first().click()
      await page.getByRole('dialog').waitFor()
      t.deepEqual(await seriousFindings(page), [], `${colorScheme} ${width}, sheet`)
      await shoot(page, `sheet-${colorScheme}-${width}`)
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      t.true(Number(overflow) <= 0, `${width}: nothing lies beyond the edge`)
      t.deepEqual(page.faults, [])
    }
  },
)

/** What has been used against pages that show strangers' text. */
const PAYLOADS = [
  '<script>window.pwned=1;alert(1)</script>',
  '<img src=x onerror="window.pwned=1;alert(1)">',
  '"><svg/onload=alert(1)>',
  "'-alert(1)-'",
  '</title></style></textarea><iframe srcdoc="<script>parent.pwned=1</script>">',
  'javascript:alert(1)',
  ' java\nscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '{{constructor.constructor("alert(1)")()}}',
  '${alert(1)}',
  '<a href="https://evil.example" style="position:fixed;inset:0">',
  '\u202e\u2066gnp.exe\u2069\u0000\u001b[2J',
  'x'.repeat(2_000),
]

const hostileListing = (payload: string, n: number): string => {
  const node = {
    type: 'img',
    props: { src: 'x', onerror: 'alert(1)' },
    key: null,
    ref: null,
    constructor: undefined,
  }
  return listingText({
    listing_id: `${n} ${payload.replace(/[\u0000-\u001f]/g, ' ')}`.slice(0, 190),
    storefront_url: payload,
    offer_resource: {
      gpu_model: payload,
      gpu_count: node,
      region: payload,
      description: payload,
      [payload]: payload,
      __html: payload,
      dangerouslySetInnerHTML: { __html: payload },
    },
    accepted_escrows: [
      {
        chain_name: payload,
        escrow_address: payload,
        literal_fields: { token: payload },
        rates: [{ field: 'amount', per: payload, value: '7' }],
      },
    ],
    demands: [{ arbiter: payload }],
    oracle_address: payload,
    publisher_id: payload,
    created_at: `2026-11-20T15:33:${String(59 - n).padStart(2, '0')}.000000`,
  })
}

const HOSTILE_SPEC = {
  version: 1,
  etag: '<b>',
  listing_shape: {},
  filters: PAYLOADS.flatMap((name) =>
    ['in', 'not_in', 'range', 'exists'].map((op) => ({
      name: `${op} ${name}`,
      path: '$.x',
      op,
      value_type: op === 'range' ? 'integer' : 'string',
      alias_kind: null,
      on_missing: 'fail',
      indexed: false,
    })),
  ),
}

test.serial(
  'text of a hostile upstream is text: in the table, the sheets, the filters and the problems',
  async (t) => {
    const fake = await startFake(t, { items: PAYLOADS.map(hostileListing), filterSpec: HOSTILE_SPEC })
    const gateway = await startGateway(t, [{ name: 'evil', url: fake.url }])
    const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
    await page.getByText(`${PAYLOADS.length} listings match.`).waitFor()
    await page.getByText('Known to some Registries only').waitFor()
    t.true((await page.getByText('only evil').count()) > 20)
    for (let n = 0; n < PAYLOADS.length; n++) {
      await page.locator('.open').nth(n).click()
      await page.getByRole('dialog').waitFor()
      const links = (await page.evaluate('[...document.links].map(({ href }) => href)')) as string[]
      t.deepEqual(
        links.filter((link) => !/^https?:/.test(link)),
        [],
      )
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await page.getByLabel('region', { exact: true }).focus()
    const everywhere = PAYLOADS.slice(0, -1).flatMap((payload) => [
      [payload, payload],
      ['status', payload],
    ])
    for (const query of [everywhere.slice(0, 1), everywhere]) {
      const [payload = ''] = query.at(-1) ?? []
      const hash = new URLSearchParams({ listing: payload, registry: payload })
      await page.goto(`${gateway.url}/?${new URLSearchParams(query)}#${hash}`)
      await page.getByRole('alert').first().waitFor()
    }
    t.is(await page.evaluate('window.pwned'), undefined)
    t.is(await page.locator('iframe, main img, main script, dialog img').count(), 0)
    t.notRegex(await page.content(), /[\u202e\u2066\u0000\u001b]/)
    t.deepEqual(page.faults, [], 'nothing ran, and nothing even had to be blocked')
  },
)
