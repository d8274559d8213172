import { readFile } from 'node:fs/promises'
import { agentAt } from '../../../helpers/agent.ts'
import { openWatched } from '../../../helpers/browser-page.ts'
import { listingText } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { idsByPrice, listingsOf, OUTLIER_CASES } from '../../../helpers/outlier-cases.ts'
import { test } from '../in-chromium.ts'
import { escrow, machine, rowsOf, waitForCount } from './federation.ts'

const rent = { accepted_escrows: [escrow('2000000')], max_duration_seconds: 86_400 }

const items = [
  listingText({ ...machine('day', { gpu_count: 1, sla: 99.5, ram_gb: 64 }), ...rent }),
  listingText({ ...machine('more', { gpu_count: 1, sla: 99 }), ...rent }),
  listingText({ ...machine('less', { gpu_count: 1, sla: 95 }), ...rent }),
  listingText({ ...machine('plain', {}), ...rent, offer_resource: { service_name: 'storage' } }),
  listingText({ ...machine('odd', { gpu_model: 'T4' }), accepted_escrows: [escrow('-5')] }),
  listingText({ ...machine('asked', { gpu_model: 'T4' }), accepted_escrows: [escrow('1', { rates: [] })] }),
]

const chained = (chain_name: string, token: string, value: string) =>
  escrow(value, { chain_name, literal_fields: { token } })
const inPlayMoney = (value: string) =>
  chained('base_sepolia', '0x036cbd53842c5426634e7929541ec2318f3dcf7e', value)
const onEthereum = (value: string) => chained('ethereum', '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', value)

const offered = (id: string, gpu_count: number, ...accepted_escrows: object[]) =>
  listingText({ ...machine(id, { gpu_count }), accepted_escrows })

test.serial('board: a number is of what its label says', async (t) => {
  const fake = await startFake(t, { items })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/#listing=day`)
  const sheet = page.getByRole('dialog')
  t.is(await sheet.locator('output').textContent(), '48.00 USDC')
  await sheet.getByLabel('hours').fill('1000')
  await sheet.locator('.fault', { hasText: 'longest rent 24 h' }).waitFor()
  t.is(await sheet.locator('output').textContent(), '– USDC')
  await page.keyboard.press('Escape')
  await waitForCount(page, '6 listings')

  await page
    .locator('.facts-line', {
      hasText: /19 GPUs · *2\.00 – 2\.00 USDC per GPU·h, median 2\.00\s+\(3 offers on Base\)/,
    })
    .waitFor()
  const plain = rowsOf(page).filter({ hasText: 'storage' })
  t.regex((await plain.locator('.price').textContent()) ?? '', /^no GPUs/)
  t.is(await plain.locator('.whole').textContent(), '2.00 USDC/h')
  t.is(await rowsOf(page).filter({ hasText: 'price not readable' }).count(), 1)
  t.is(await rowsOf(page).filter({ hasText: 'price on request' }).count(), 1)

  await page.getByLabel('SLA', { exact: true }).selectOption('at least 99 % (2)')
  await waitForCount(page, '2 listings')
  t.is(new URL(page.url()).search, '?sla=in%3A%5B99%2C99.5%5D')
  t.is(await page.getByLabel('SLA', { exact: true }).inputValue(), '99')
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'CSV' }).click()
  const lines = (await readFile(await (await saved).path(), 'utf8')).split('\r\n')
  t.regex(lines[0] ?? '', /^# http:.*\?sla=in.*, read 20/)
  t.is(lines[1], '# 2 listings, all that match')
  t.is(lines[2], '# 1 of 1 answered')
  for (const column of ['ram_gb', 'sla', 'copy', 'longest_rent_seconds', 'other_prices', 'test_network'])
    t.true(lines[3]!.split(',').includes(`"${column}"`), column)
  t.deepEqual(page.faults, [])
})

test.serial('board: a comparison marks the lowest price, and leads to the storefronts', async (t) => {
  const dear = { ...rent, accepted_escrows: [escrow('3000000')] }
  const compared = [
    listingText({ ...machine('cheap', { gpu_count: 1 }), ...rent }),
    listingText({ ...machine('dear', { gpu_count: 1 }), ...dear }),
    offered('play', 1, inPlayMoney('10000')),
  ]
  const fake = await startFake(t, { items: compared })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const address = `${gateway.url}/#compare=far%3Adear&compare=far%3Acheap&compare=far%3Aplay`
  const page = await openWatched(t, t.context.browser, address)
  const prices = page
    .getByRole('dialog')
    .getByRole('row', { name: /^Price/ })
    .getByRole('cell')
  await prices.nth(1).getByText('lowest').waitFor()
  for (const other of [0, 2]) t.is(await prices.nth(other).getByText('lowest').count(), 0)
  await page.getByRole('dialog').getByRole('row', { name: 'Chain Base Base Base Sepolia' }).waitFor()
  t.is(
    await page
      .getByRole('dialog')
      .getByRole('link', { name: /^Storefront/ })
      .count(),
    3,
  )
  t.deepEqual(page.faults, [])
})

test.serial('board: on a phone the button to the listings stays in reach', async (t) => {
  const fake = await startFake(t, { items })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`, {
    viewport: { width: 390, height: 844 },
  })
  await waitForCount(page, '6 listings')
  await page.getByRole('button', { name: /^Filters/ }).click()
  await page.getByRole('checkbox', { name: /^H200/ }).check()
  const button = page.getByRole('button', { name: 'Show 3 listings' })
  await button.waitFor()
  const { y, height } = (await button.boundingBox())!
  t.true(y >= 0 && y + height <= 844, `${y}`)
  t.deepEqual(page.faults, [])
})

/** Three prices in USDC, of which one listing has two, and two that are lower without being money. */
const MIXED = [
  offered('both', 1, onEthereum('1800000'), escrow('1750000')),
  offered('dear', 2, escrow('7460000')),
  offered('other', 1, onEthereum('2000000')),
  offered('play', 8, inPlayMoney('80000')),
  offered('unknown', 4, chained('base', `0x${'9'.repeat(40)}`, '1')),
  listingText({ ...machine('storage', {}), ...rent, offer_resource: { service_name: 'storage' } }),
]

test.serial('board: money is by symbol, GPUs are of all, models have prices of all', async (t) => {
  const fake = await startFake(t, { items: MIXED })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  const facts = (words: RegExp) => page.locator('.facts-line', { hasText: words }).waitFor()
  await facts(/16 GPUs · *1\.75 – 3\.73 USDC per GPU·h,\s+median 2\.00\s+\(3 offers\)/)
  const sentence = /^Cheapest 1\.75 USDC\/GPU·h, median 2\.00, of 3 of 6 listings .* 1 price of test networks/
  await page.locator('.sentence', { hasText: sentence }).waitFor()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Copy for my agent' }).click()
  await page.getByText('Copied').waitFor()
  const copied = String(await page.evaluate('navigator.clipboard.readText()'))
  t.regex(copied, /^Cheapest 1\.75 USDC.*\nFirst listing: http.*\n.*\n.*\n.*\nPage: http.*\nRead at 20/)
  const addresses = [...copied.matchAll(/^(?!Page|Over).*: (http\S+)$/gm)].map(([, address]) => address!)
  t.is(addresses.length, 3)
  for (const address of addresses) t.is((await fetch(address)).status, 200, address)
  const [, tool = '', input = ''] = /: (\w+) (\{.*\})$/m.exec(copied) ?? []
  t.false((await (await agentAt(t, gateway.url)).call(tool, JSON.parse(input))).isError)
  const line = page.locator('.prices').getByRole('row', { name: /^H200/ })
  const drawn = async () => (await line.getByRole('cell').allTextContents()).slice(0, 4)
  t.deepEqual(await drawn(), ['5', '1.75', '2.00', '3.73'])
  await page.locator('.prices').getByRole('row', { name: 'not stated 1' }).waitFor()
  await line.getByRole('link').click()
  await waitForCount(page, '5 listings')
  t.is(new URL(page.url()).search, '?gpu=H200&sort=price&price_token=USDC')
  // Of a link without an order, no row is drawn in another one before tokens are known.
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.goto(`${gateway.url}/?gpu=H200`)
  await waitForCount(page, '5 listings')
  const amounts = await rowsOf(page).locator('.price strong').allTextContents()
  t.deepEqual(amounts.slice(0, 3), ['1.75', '2.00', '3.73'], 'the second is on another chain than the others')
  t.deepEqual(
    asked
      .filter((url) => url.includes('/listings?'))
      .map((url) => new URL(url).searchParams.get('price_token')),
    ['USDC'],
  )
  await page.goto(`${gateway.url}/?price_token=USDC&price_max=2.10`)
  await waitForCount(page, '2 listings')
  await facts(/2 GPUs · *1\.75 – 2\.00 USDC per GPU·h,\s+median 1\.75\s+\(2 offers\)/)
  t.deepEqual(await drawn(), ['2', '1.75', '1.75', '2.00'])
  t.deepEqual(page.faults, [])
})

test.serial('board: in place of an empty page the closest listings, with what differs', async (t) => {
  const fake = await startFake(t, { items })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const asked = 'gpu_count_min=9&price_token=USDC&price_max=3&region=Tokyo, JP'
  const page = await openWatched(t, t.context.browser, `${gateway.url}/?${asked}`)
  await waitForCount(page, 'No listing matches.')
  const near = page.getByRole('region', { name: 'Closest' })
  t.regex((await near.textContent()) ?? '', /1 × H200\s*Tokyo, JP\s*GPUs: 1\s*2\.00 USDC per GPU·h/)
  t.is(await near.locator('p strong').first().textContent(), '1')
  await near.getByRole('link').first().click()
  await page.getByRole('dialog').waitFor()
  // Each filter keeps its values, so that another one can be chosen.
  await page.goto(`${gateway.url}/?gpu_count_min=9`)
  await waitForCount(page, 'No listing matches.')
  await page.locator('#filter-gpu').getByText('H200', { exact: true }).waitFor()
  await page.goto(`${gateway.url}/?gpu_model=H200&price_token=USDC&price_max=1.50`)
  t.regex((await near.textContent()) ?? '', /Price: 2\.00 USDC\/GPU·h/)
  t.deepEqual(page.faults, [])
})

for (const one of OUTLIER_CASES)
  test.serial(`board: ${one.name}: marked, last by price, and leads nothing`, async (t) => {
    const { outliers } = one
    const fake = await startFake(t, { items: listingsOf(one) })
    const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
    const page = await openWatched(t, t.context.browser, `${gateway.url}/?sort=price&price_token=USDC`)
    const ids = idsByPrice(one)
    await waitForCount(page, `${ids.length} listings`)
    const flags = page.locator('table.listings .flag', { hasText: 'far below the median' })
    await rowsOf(page)
      .nth(ids.length - 1)
      .waitFor()
    t.is(await flags.count(), outliers.length)
    const isMarked = await rowsOf(page).evaluateAll((rows) =>
      rows.map((row) => row.textContent?.includes('far below the median')),
    )
    t.deepEqual(
      isMarked,
      ids.map((id) => outliers.includes(id)),
    )
    const sentence = (await page.locator('.sentence').textContent()) ?? ''
    t.is(sentence.includes(`Not counted: ${outliers.length} price`), outliers.length > 0, sentence)
    t.is((await page.getByText(/without \d+ prices? far below the median/).count()) > 0, outliers.length > 0)
    t.deepEqual(page.faults, [])
  })

test.serial('board: counts with a registry that is held in part are at least that', async (t) => {
  const large = await startFake(t, { items: items.slice(0, 3) })
  const small = await startFake(t, { items: items.slice(0, 2) })
  const gateway = await startGateway(t, [
    { name: 'large', url: large.url, settings: 'max_listings = 2' },
    { name: 'small', url: small.url },
  ])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  const models = page.locator('#filter-gpu')
  // Two of `large` and two of `small`, one of which is in both.
  await models.getByText('3+', { exact: true }).waitFor()
  await waitForCount(page, 'At least 3 listings')
  await page.goto(`${gateway.url}/?gpu_count_min=99`)
  await waitForCount(page, 'No listing found in what is held.')
  await page.getByText(/^large is held in part: 2 of 3\.$/).waitFor()
  await page.goto(`${gateway.url}/`)
  await models
    .getByText('B200', { exact: true })
    .or(models.getByRole('button', { name: /^Show all/ }))
    .first()
    .waitFor()
  t.deepEqual(page.faults, [])
})

test.serial('board: offers of one seller that differ in their place alone are one line', async (t) => {
  const places = ['Tokyo, JP', 'Frankfurt, DE', 'Reykjavik, IS']
  const family = places.map((region, n) =>
    listingText({ ...machine(`f-${n}`, { region }), ...rent, created_at: `2026-11-20T15:33:1${n}.000000` }),
  )
  const other = listingText({ ...machine('other', { ram_gb: 64 }), ...rent })
  const fake = await startFake(t, { items: [other, ...family.toReversed()] })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await waitForCount(page, '4 listings')
  t.is(await rowsOf(page).count(), 2)
  t.is(await rowsOf(page).nth(1).locator('.region').textContent(), '3 places')
  await page.getByRole('button', { name: /same terms in 3 places/ }).click()
  t.is(await rowsOf(page).count(), 4)
  t.deepEqual((await rowsOf(page).locator('.region').allTextContents()).slice(1), [...places].reverse())
  t.deepEqual(page.faults, [])
})
