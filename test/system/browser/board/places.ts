import { request } from 'node:http'
import { openWatched } from '../../../helpers/browser-page.ts'
import { listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway, startPatientGateway } from '../../../helpers/gateway.ts'
import { listen } from '../../../helpers/listen.ts'
import { openMarket } from '../../../helpers/market.ts'
import { ALICE } from '../../../helpers/seller.ts'
import { test } from '../in-chromium.ts'
import { escrow, machine, rowsOf, waitForCount } from './federation.ts'

test.serial('board: works below a path of a proxy', async (t) => {
  const fake = await startFake(t, { items: listingTexts('far', 2) })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const proxy = await listen(t, (incoming, outgoing) => {
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
  })
  const page = await openWatched(t, t.context.browser, `${proxy}/hub/`)
  await waitForCount(page, '2 listings')
  await page.getByText('Run this search in a terminal').click()
  const [curl] = await page.locator('.elsewhere pre').allTextContents()
  t.is(curl, `curl -g ${proxy}/hub/listings`)
  t.deepEqual(page.faults, [])
})

test.serial('board: a plain Registry has the same one, paged by offset', async (t) => {
  const registry = await openMarket(t)
  const first = await openWatched(t, t.context.browser, `${registry.url}/`)
  await first
    .getByText(`Nothing is published yet. entrepot publish FILE -r ${registry.url} publishes`)
    .waitFor()
  await first.goto(`${registry.url}/?gpu_model=H200`)
  await waitForCount(first, 'No listing matches.')
  t.is(await first.getByText('Nothing is published').count(), 0, 'others may be published')
  for (let n = 0; n < 130; n++) await registry.publish(machine(`one-${n}`, {}), undefined, ALICE)
  const page = await openWatched(t, t.context.browser, `${registry.url}/`)
  await waitForCount(page, '130 listings')
  t.is(await page.getByText(/\d answered/).count(), 0)
  t.is(await rowsOf(page).count(), 100)
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('101 to 130 of 130').waitFor()
  t.is(await rowsOf(page).count(), 30)
  t.deepEqual(page.faults, [])
})

test.serial('board: of 10,050 listings one page is in the document', async (t) => {
  const offer_resource = { gpu_model: 'H100', gpu_count: 8, region: 'Tokyo, JP' }
  const inUsdc = { offer_resource, accepted_escrows: [escrow('16000000')] }
  const unknown = escrow('5', { literal_fields: { token: `0x${'9'.repeat(40)}` } })
  // The newest are in money, most are not.
  const items = [
    ...listingTexts('first', 150, { ...inUsdc, created_at: '2026-11-21T00:00:00' }),
    ...listingTexts('many', 9900, { offer_resource, accepted_escrows: [unknown] }),
  ]
  const fake = await startFake(t, { items })
  const gateway = await startPatientGateway(t, [{ name: 'big', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await waitForCount(page, '10,050 listings')
  await page.getByRole('button', { name: 'Load all (up to 10,000)' }).click()
  await page.getByText('Showing the first 10,000.').waitFor({ timeout: 150_000 })
  t.is(await page.getByRole('button', { name: /^Use all/ }).count(), 0, 'prices are of all that match')
  await page.getByText('Sorting by RAM, SLA… works up to 10,000 listings.').waitFor()
  await page.locator('.plot summary', { hasText: 'USDC per GPU-hour' }).waitFor()
  await page.locator('.prices').getByRole('row', { name: 'H100 10,050 2.00 2.00 2.00' }).waitFor()
  for (let n = 0; n < 5; n++) await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('501 to 600 of 10,050').waitFor()
  t.is(await rowsOf(page).count(), 100)
  t.deepEqual(page.faults, [])
})
