import { startDemoMarket } from '../demo/market.ts'
import { startChromium } from '../test/helpers/chromium.ts'

/** `npm run screenshots` runs this: the README's pictures of the board, over the demo's market. */

const FOLDER = 'docs/images'
const SIZE = { width: 1440, height: 900 }

const market = await startDemoMarket(0)
const browser = await startChromium()
try {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ colorScheme, viewport: SIZE })
    await page.goto(market.gateway)
    await page.getByLabel('API key').fill(market.readerKey)
    await page.keyboard.press('Enter')
    await page.getByText('3 of 3 answered', { exact: true }).waitFor()
    await page.getByRole('columnheader', { name: 'Price per GPU-hour' }).getByRole('link').click()
    await page.getByRole('checkbox', { name: /^H200/ }).check()
    await page.getByRole('checkbox', { name: /^H100/ }).check()
    await page.locator('#count', { hasText: 'listings' }).waitFor()
    await page.mouse.move(0, 0)
    if (colorScheme === 'dark') {
      await page.getByRole('link', { name: '8 × H100 SXM', exact: true }).first().click()
      await page.getByText(/ open listings? since /).waitFor()
    }
    await page.screenshot({ path: `${FOLDER}/board-${colorScheme}.png` })
    await page.close()
  }
} finally {
  await browser.close()
  await market.close()
}
