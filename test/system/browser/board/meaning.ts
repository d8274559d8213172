import { openWatched } from '../../../helpers/browser-page.ts'
import { listingText } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { test } from '../in-chromium.ts'
import { machine, rowsOf, waitForCount } from './federation.ts'

/** As sellers write them: model, memory and region. */
const OFFERS = [
  ['H100', 'Frankfurt, DE'],
  ['NVIDIA H100 80GB HBM3', 'Frankfurt, DE'],
  ['H100_SXM5', 'FIN-02'],
  ['H100 NVL', 'Reykjavik, IS'],
  ['A100 PCIe 40GB', 'us-central1'],
  ['A100', 'Tokyo, JP'],
  ['Hopper big', 'moonbase'],
] as const

const items = OFFERS.map(([gpu_model, region], n) =>
  listingText({
    ...machine(`m-${n}`, { gpu_model, region, gpu_count: 8 }),
    created_at: `2026-11-20T15:33:${59 - n}.000000`,
  }),
)

test.serial('board: models and places are what is meant, whatever a seller writes', async (t) => {
  const fake = await startFake(t, { items })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await waitForCount(page, '7 listings')
  const box = (name: RegExp) => page.getByRole('checkbox', { name })
  await box(/^H100 4$/).check()
  await waitForCount(page, '4 listings')
  await page.getByText('1 more do not name a known GPU.').waitFor()
  t.deepEqual(await rowsOf(page).locator('.open').allTextContents(), [
    '8 × H100',
    '8 × H100',
    '8 × H100 SXM',
    '8 × H100 NVL',
  ])
  t.is(await rowsOf(page).nth(1).locator('.open').getAttribute('title'), '8 × NVIDIA H100 80GB HBM3')
  await page.getByLabel('GPU memory (GB), at least').fill('94')
  await page.keyboard.press('Tab')
  await waitForCount(page, 'One listing')
  await page.getByLabel('GPU memory (GB), at least').fill('')
  await page.keyboard.press('Tab')
  await waitForCount(page, '4 listings')

  await page.getByRole('button', { name: 'Countries in Europe (continent)' }).click()
  await box(/^Finland 1$/).check()
  await box(/^Germany 2$/).check()
  await waitForCount(page, '3 listings')
  t.is(new URL(page.url()).searchParams.get('country'), 'in:[FI,DE]')
  await page.getByRole('button', { name: /^Country: Finland, Germany/ }).waitFor()
  await page.getByRole('button', { name: 'Regions in Germany' }).click()
  await box(/^Frankfurt, DE 2$/).check()
  await waitForCount(page, '2 listings')
  t.is(
    new URL(page.url()).search,
    '?gpu=H100&sort=price&price_token=USDC&region=Frankfurt%2C+DE',
    'one level at a time',
  )
  await box(/^Europe \(continent\) 4$/).check()
  await waitForCount(page, '4 listings')
  await page.getByRole('button', { name: /^Place: Europe \(continent\)/ }).waitFor()

  await page.goto(`${gateway.url}/?gpu_model=H100`)
  await waitForCount(page, 'One listing')
  await page.getByText('1 listing is spelled so; 4 match gpu=H100.').getByRole('link').click()
  await waitForCount(page, '4 listings')
  t.is(new URL(page.url()).search, '?sort=price&price_token=USDC&gpu=H100')

  await page.goto(`${gateway.url}/`)
  await page.getByRole('button', { name: 'place not known (1)' }).click()
  await page.getByRole('checkbox', { name: /^moonbase/ }).check()
  await waitForCount(page, 'One listing')
  t.is(new URL(page.url()).search, '?region=moonbase')

  await page.goto(`${gateway.url}/?region=Tokyo%2C+JP`)
  await waitForCount(page, 'One listing')
  await page.getByRole('button', { name: 'Countries in Europe (continent)' }).click()
  await page.getByRole('button', { name: 'Regions in Germany' }).click()
  await box(/^Frankfurt, DE 2$/).check()
  await waitForCount(page, '3 listings')
  t.is(new URL(page.url()).searchParams.get('region'), 'in:["Tokyo, JP","Frankfurt, DE"]')
  t.deepEqual(page.faults, [])
})
