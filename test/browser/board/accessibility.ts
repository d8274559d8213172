import { openWatched, seriousFindings, shoot } from '../../helpers/browser-page.ts'
import { deadUrl } from '../../helpers/fake-registry.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { test } from '../in-chromium.ts'
import { openFederation } from './federation.ts'

test.serial('board: axe finds nothing serious, light, dark, wide and narrow', async (t) => {
  const { east } = await openFederation(t)
  const gateway = await startGateway(t, [
    { name: 'east', url: east.url },
    { name: 'gone', url: deadUrl() },
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
    await page.locator('canvas').last().waitFor({ state: 'attached' })
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
})

test.serial('board: the keyboard skips the filters, opens a sheet and returns', async (t) => {
  const { gateway } = await openFederation(t)
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await page.getByText('7 listings match.').waitFor()
  const focused = (): Promise<unknown> => page.evaluate('document.activeElement.textContent')
  await page.keyboard.press('Tab')
  t.is(await focused(), 'Skip the filters')
  await page.keyboard.press('Enter')
  for (let presses = 0; presses < 20 && !/^\d ×/.test(String(await focused())); presses++)
    await page.keyboard.press('Tab')
  const offer = await focused()
  t.regex(String(offer), /^\d × \w+$/)
  await page.keyboard.press('Enter')
  const sheet = page.getByRole('dialog')
  await sheet.waitFor()
  t.is(await page.evaluate('document.activeElement.closest("dialog") !== null'), true)
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  t.is(await focused(), offer)
  t.deepEqual(page.faults, [])
})
