import { openWatched } from '../../../helpers/browser-page.ts'
import { listingText } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { test } from '../in-chromium.ts'
import { escrow, machine, rowsOf, waitForCount } from './federation.ts'

/** Cheapest last: a page of the newest alone would never show it. */
const offers = Array.from({ length: 230 }, (_, n) => {
  const gpu_count = [1, 2, 4, 8][n % 4]!
  return listingText({
    ...machine(`m-${String(n).padStart(3, '0')}`, { gpu_count, gpu_model: n % 2 === 0 ? 'H200' : 'T4' }),
    accepted_escrows: [escrow(String((400 - n) * 10_000 * gpu_count))],
    created_at: new Date(Date.UTC(2026, 10, 20) - n * 1000).toISOString().slice(0, 19),
  })
})

test.serial('board: price order is that of all matches, per GPU, with disjoint pages', async (t) => {
  const fake = await startFake(t, { items: offers })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await waitForCount(page, '230 listings')
  await page.locator('.facts-line', { hasText: /1\.71 – 4\.00 USDC per GPU·h,\s+median 2\.85/ }).waitFor()
  const offerHead = page.getByRole('columnheader', { name: 'Offer' }).first()
  t.is(await offerHead.getByRole('link').count(), 0, 'what is loaded would be ordered, not what matches')
  await page.getByText('Sorting by RAM, SLA… needs all listings loaded.').waitFor()
  await page.getByRole('button', { name: 'Load all', exact: true }).click()
  await offerHead.getByRole('link').waitFor()
  t.is(await page.getByText('Sorting by RAM').count(), 0)
  await page.getByRole('columnheader', { name: 'Price per GPU-hour' }).getByRole('link').click()
  await page
    .getByRole('columnheader', { name: /GPU-hour/ })
    .and(page.locator('[aria-sort=ascending]'))
    .waitFor()
  const prices = async () => (await rowsOf(page).locator('.price strong').allTextContents()).map(Number)
  await rowsOf(page).first().getByText('1.71').waitFor()
  t.is(new URL(page.url()).search, '?sort=price&price_token=USDC')
  const first = await prices()
  t.is(await rowsOf(page).first().locator('.whole').textContent(), '3.42 USDC/h')
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('101 to 200 of 230').waitFor()
  const second = await prices()
  t.deepEqual(
    [...first, ...second],
    Array.from({ length: 200 }, (_, n) => (171 + n) / 100),
  )
  t.is(await page.evaluate('document.activeElement.id'), 'count', 'focus is above the new page')
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('201 to 230 of 230').waitFor()
  t.is(await page.getByRole('button', { name: 'Next' }).getAttribute('aria-disabled'), 'true')

  t.is(new URL(page.url()).hash, '#page=3')
  await page.reload()
  await page.getByText('201 to 230 of 230').waitFor()
  await rowsOf(page).first().getByText('3.71').waitFor()
  await page.goBack()
  await page.getByText('101 to 200 of 230').waitFor()

  await page.getByLabel('Price, at most').fill('1.75')
  await page.keyboard.press('Enter')
  await waitForCount(page, '5 listings')
  const firstOffer = (hasText: string) => rowsOf(page).first().locator('.open', { hasText }).waitFor()
  await offerHead.getByRole('link').press('Enter')
  await firstOffer('1 × H200')
  t.is(await offerHead.getAttribute('aria-sort'), 'ascending')
  await offerHead.getByRole('link').click()
  await firstOffer('2 × T4')
  t.is(new URL(page.url()).hash, '#order=-offer')
  await page.reload()
  await firstOffer('2 × T4')
  await page.getByLabel('Sort').selectOption('GPUs')
  await firstOffer('8 × T4')
  await page.getByRole('columnheader', { name: 'Price per GPU-hour' }).getByRole('link').click()
  await firstOffer('2 × T4')
  await page.getByRole('button', { name: 'Reverse the order' }).click()
  await rowsOf(page).first().getByText('1.75').waitFor()
  await page.getByRole('button', { name: 'Reverse the order' }).click()
  await rowsOf(page).first().getByText('1.71').waitFor()
  await page.getByRole('button', { name: /≤ 1.75 USDC per GPU-hour/ }).waitFor()
  t.deepEqual(await prices(), [1.71, 1.72, 1.73, 1.74, 1.75])
  await page.getByLabel('Price, at most').fill('1,75')
  await page.keyboard.press('Enter')
  await page.getByText('Enter an amount, such as 2.10').waitFor()
  t.is(await rowsOf(page).count(), 5)
  t.deepEqual(page.faults, [])
})

test.serial(
  'board: listings begin in the upper half of a screen, and their unit is in the head',
  async (t) => {
    const items = offers.slice(0, 40).map((offer, n) => {
      const gpu_model = ['H200', 'H100', 'A100', 'T4', 'L4'][n % 5]
      return listingText({ ...JSON.parse(offer), offer_resource: { gpu_model, gpu_count: 1 } })
    })
    const odd = { ...machine('odd', { gpu_count: 1 }), accepted_escrows: [escrow('7', token('0x1'))] }
    const fakes = [await startFake(t, { items: [listingText(odd), ...items] }), await startFake(t, { items })]
    const upstreams = fakes.map(({ url }, n) => ({ name: `far-${n}`, url }))
    const gateway = await startGateway(t, upstreams)
    for (const [width, height] of [
      [1280, 800],
      [390, 844],
    ] as const) {
      const page = await openWatched(t, t.context.browser, `${gateway.url}/?gpu=in:[H200,H100,A100,T4,L4]`, {
        viewport: { width, height },
      })
      await waitForCount(page, '41 listings')
      await page.waitForLoadState('networkidle')
      const { y } = (await page.locator('.listings').boundingBox())!
      t.true(y <= height / (width === 390 ? 1 : 2), `${width}: ${y}`)
      const units = rowsOf(page).locator('.price .unit:not(.common)')
      t.deepEqual(await units.allTextContents(), ['units/GPU·h'])
      t.regex(await page.locator('thead .price').innerText(), /^Price per GPU-hour ▴\nUSDC$/)
      t.deepEqual(page.faults, [])
    }
  },
)

const token = (address: string) => ({ literal_fields: { token: address } })

test.serial('board: the sheet shows every payment option, and what was not checked', async (t) => {
  const items = [
    listingText({
      ...machine('two', {}),
      accepted_escrows: [
        escrow('16800000'),
        escrow('17500000', {
          chain_name: 'ethereum',
          ...token('0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'),
        }),
      ],
      demands: ['base', 'ethereum'].map((chain_name) => ({ chain_name, arbiter: `0x${'a'.repeat(40)}` })),
      max_duration_seconds: 604_800,
    }),
    listingText({
      ...machine('credits', {}),
      offer_resource: { service_name: 'ocr' },
      accepted_escrows: [escrow('1', { rates: [] })],
    }),
    listingText({
      ...machine('unit', { gpu_count: 1 }),
      accepted_escrows: [escrow('1', token('t'.repeat(120)))],
    }),
    listingText({
      ...machine('odd', { gpu_count: 1 }),
      accepted_escrows: [escrow('9'.repeat(77), token('t'.repeat(120)))],
    }),
    listingText({ ...machine('early', {}), created_at: '2100-01-01T00:00:00.000000' }),
  ]
  const fake = await startFake(t, { items })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/#listing=two`)
  await rowsOf(page).filter({ hasText: 'dated in the future' }).waitFor()
  const sheet = page.getByRole('dialog')
  const payments = sheet.getByRole('table', { name: 'Accepted payments' }).getByRole('row')
  t.deepEqual(await payments.count(), 3)
  t.regex((await payments.nth(1).textContent()) ?? '', /2\.10.*16\.80 per h.*USDC.*Base/s)
  t.regex((await payments.nth(2).textContent()) ?? '', /2\.1875.*17\.50 per h.*USDC.*Ethereum/s)
  t.is(await sheet.locator('.big-price').textContent(), '2.10 USDC per GPU·h')
  await sheet.getByLabel('hours').fill('168')
  await sheet.getByText('2,822.40 USDC').waitFor()
  await sheet.getByText('up to 7 days').waitFor()
  t.is(await sheet.getByRole('link', { name: /^Storefront/ }).getAttribute('href'), 'https://alice.example/')
  await sheet.getByText('How to rent').waitFor()
  await sheet.getByText('Arbiter: 0xaaaa…aaaa on Base or Ethereum.').waitFor()

  const open = async (id: string) => {
    await page.keyboard.press('Escape')
    await page.waitForURL(({ hash }) => hash === '')
    await page.goto(`${gateway.url}/#listing=${id}`)
    return (await sheet.locator('.big-price').textContent()) ?? ''
  }
  t.regex(await open('odd'), /^[9,]+ units of unknown token tttttt…tttt per GPU·h$/)
  t.is(await open('unit'), '1 unit of unknown token tttttt…tttt per GPU·h')
  t.is(await open('credits'), 'Price on request')
  await sheet.getByText('How to buy').waitFor()
  await sheet.getByText('agree on an amount').waitFor()
  t.deepEqual(page.faults, [])
})
