import { readFile } from 'node:fs/promises'
import type { Page, Route } from 'playwright-core'
import { openWatched } from '../../../helpers/browser-page.ts'
import { listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { FIXED_TIME, openMarket } from '../../../helpers/market.ts'
import { test } from '../in-chromium.ts'
import { escrow, rowsOf, waitForCount } from './federation.ts'

const busy = (route: Route): Promise<void> => route.fulfill({ status: 503, body: '{"detail":"busy"}' })

/** Without a click: the focus stays where it is. */
const refresh = (page: Page): Promise<void> =>
  page
    .getByRole('button', { name: 'Refresh', includeHidden: true })
    .evaluate((button: { click: () => void }) => button.click())

test.serial('board: what is typed, opened and focused stays while answers arrive', async (t) => {
  const fake = await startFake(t, { items: listingTexts('far', 2) })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await waitForCount(page, '2 listings')
  const seller = page.getByLabel('Seller (address)')
  await seller.pressSequentially('0x12')
  const answered = page.waitForResponse('**/listings?*')
  await refresh(page)
  await answered
  await waitForCount(page, '2 listings')
  await page.keyboard.type('34')
  t.is(await seller.inputValue(), '0x1234')
  await seller.fill('')

  await page.getByText('More filters').click()
  const ip = page.getByLabel('Static IP', { exact: true })
  await ip.selectOption('yes')
  await waitForCount(page, 'No listing matches.')
  await ip.selectOption('any')
  await waitForCount(page, '2 listings')
  t.true(await ip.isVisible(), 'filters that were opened stay open')

  await page.route('**/facets?*', busy)
  const status = page.getByLabel('Status')
  await status.focus()
  for (const value of ['any', 'closed', 'open']) {
    const counted = page.waitForResponse('**/facets?*')
    await status.selectOption(value)
    await counted
  }
  await waitForCount(page, '2 listings')
  t.is(await page.evaluate('document.activeElement.id'), 'status', 'the filters stay without counts')
  t.deepEqual(page.faults, [])
})

test.serial('board: a sheet stays as it is while its page is loaded again', async (t) => {
  const price = { accepted_escrows: [escrow('16800000')] }
  const fake = await startFake(t, { items: listingTexts('far', 230, price) })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/#page=3`)
  await page.getByText('201 to 230 of 230').waitFor()
  const link = rowsOf(page).nth(3).locator('.open')
  await link.click()
  const sheet = page.getByRole('dialog')
  await sheet.waitFor()
  const again = page.waitForResponse(/cursor=/)
  await refresh(page)
  await again
  await waitForCount(page, '230 listings')
  await page.goBack()
  await sheet.waitFor({ state: 'detached' })
  await link.and(page.locator(':focus')).waitFor()

  await page.route(/cursor=/, async (route) => {
    const response = await route.fetch()
    const { items, ...more } = await response.json()
    await route.fulfill({ response, json: { items: items.slice(0, -1), ...more } })
  })
  await rowsOf(page).last().locator('.open').click()
  const hours = sheet.getByLabel('hours')
  await hours.fill('168')
  const alone = page.waitForResponse('**/listings/far-*')
  await refresh(page)
  await alone
  await page.getByText('201 to 229 of 230').waitFor()
  t.is(await hours.inputValue(), '168')
  t.deepEqual(page.faults, [])
})

test.serial('board: after a failure the page that is wanted is loaded, and a file is whole', async (t) => {
  const fake = await startFake(t, { items: listingTexts('far', 330) })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/#page=3`, {
    prepare: (page) => page.route(/cursor=/, busy),
  })
  await page.getByText('Loading stopped after 200 of 330.').waitFor()
  const files: string[] = []
  page.on('download', (download) => files.push(download.suggestedFilename()))
  await page.getByRole('button', { name: 'JSON' }).click()
  await page.unroute(/cursor=/)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('201 to 300 of 330').waitFor()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'CSV' }).click()
  const lines = (await readFile(await (await saved).path(), 'utf8')).trimEnd().split('\r\n')
  t.is(lines.filter((line) => !line.startsWith('# ')).length, 331)
  t.deepEqual(files, ['listings.csv'])
  t.deepEqual(page.faults, [])
})

test.serial(
  'board: what is new, changed and gone is counted, and no row moves before it is asked for',
  async (t) => {
    const market = await openMarket(t)
    const offer = {
      offer_resource: { gpu_model: 'H200', gpu_count: 1 },
      storefront_url: 'https://alice.example',
    }
    for (const [n, id] of ['a', 'b'].entries())
      await market.publish({ listing_id: id, ...offer }, FIXED_TIME + n)
    const page = await openWatched(t, t.context.browser, `${market.url}/?sort=newest`)
    await waitForCount(page, '2 listings')
    await market.publish({ listing_id: 'c', ...offer }, FIXED_TIME + 2)
    await page.getByText('1 new', { exact: true }).waitFor()
    await market.update('a', { status: 'closed' }, FIXED_TIME + 3)
    await market.publish({ listing_id: 'b', ...offer, max_duration_seconds: 60 }, FIXED_TIME + 4)
    await page.getByText('1 new, 1 changed, 1 gone', { exact: true }).waitFor()
    t.is(await rowsOf(page).count(), 2)
    t.deepEqual(await rowsOf(page).locator('.chip').allTextContents(), ['changed', 'gone'])
    await page.evaluate(RECORD_NEWS)
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.getByText('1 new, 1 changed, 1 gone').waitFor({ state: 'detached' })
    await waitForCount(page, '2 listings')
    t.is(await rowsOf(page).locator('.chip').count(), 0)
    // The news of the rows before are never shown beside the new rows.
    const lines = await page.evaluate('newsOfFrames.filter((line) => line !== "")')
    t.deepEqual(lines, ['1 new, 1 changed, 1 gone'])

    await page.getByLabel('watch for changes').uncheck()
    const isFeed = (url: string) => url.includes('/changes')
    const asked: string[] = []
    page.on('request', (request) => void asked.push(request.url()))
    await market.publish({ listing_id: 'd', ...offer }, FIXED_TIME + 5)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await waitForCount(page, '3 listings')
    t.deepEqual(asked.filter(isFeed), [])
    t.deepEqual(page.faults, [])
  },
)

/** The line of news in each frame from now on, where it differs from that of the frame before. */
const RECORD_NEWS = `
  globalThis.newsOfFrames = []
  const look = () => {
    const line = document.querySelector('.news strong')?.textContent ?? ''
    if (line !== newsOfFrames.at(-1)) newsOfFrames.push(line)
    requestAnimationFrame(look)
  }
  look()`
