import { startDemoMarket } from '../demo/market.ts'
import { startChromium } from '../test/helpers/chromium.ts'

/** `npm run screenshots` runs this: the README's pictures of the board, over the demo's market. */

const FOLDER = 'docs/images'
const SIZE = { width: 1280, height: 760 }

const market = await startDemoMarket(0)
const browser = await startChromium()
try {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ colorScheme, viewport: SIZE })
    await page.goto(market.gateway)
    await page.getByLabel('Reader key').fill(market.readerKey)
    await page.keyboard.press('Enter')
    await page.locator('.source', { hasText: 'curated' }).waitFor()
    await page.getByRole('button', { name: 'Load all' }).click()
    await page.getByText(/^All [\d,]+ matches/).waitFor()
    await page.locator('.canvas canvas').nth(1).waitFor()
    if (colorScheme === 'dark') await page.getByRole('button', { name: '8 × H200' }).first().click()
    else await page.evaluate('scrollTo(0, 0)')
    await page.screenshot({ path: `${FOLDER}/board-${colorScheme}.png` })
    await page.close()
  }
} finally {
  await browser.close()
  await market.close()
}
