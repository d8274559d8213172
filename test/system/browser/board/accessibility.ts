import { axeFindings, LOOKS, openWatched, shoot } from '../../../helpers/browser-page.ts'
import { deadUrl } from '../../../helpers/fake-registry.ts'
import { startGateway } from '../../../helpers/gateway.ts'
import { test } from '../in-chromium.ts'
import { openFederation, rowsOf, waitForCount } from './federation.ts'

/** Good by web.dev/articles/cls. */
const MAX_LAYOUT_SHIFT = 0.1

test.serial('board: axe finds nothing and nothing jumps, light and wide, dark and narrow', async (t) => {
  const { east } = await openFederation(t)
  const gateway = await startGateway(t, [
    { name: 'east', url: east.url },
    { name: 'gone', url: deadUrl() },
  ])
  for (const [colorScheme, width] of LOOKS) {
    const page = await openWatched(t, t.context.browser, `${gateway.url}/?gpu_model=A100`, {
      colorScheme,
      viewport: { width, height: width === 390 ? 844 : 900 },
    })
    const name = `${colorScheme}-${width}`
    for (const load of ['cold', 'warm']) {
      await waitForCount(page, '3 listings found; gone did not answer')
      await page.waitForLoadState('networkidle')
      t.true(await rowsOf(page).first().isVisible())
      const shift = await page.layoutShift()
      t.true(shift < MAX_LAYOUT_SHIFT, `${name}, ${load}: ${shift}`)
      if (load === 'cold') await page.reload()
    }
    if (width === 390) await page.getByRole('button', { name: /^Filters/ }).click()
    for (const summary of await page.locator('details:not([open]) > summary').all())
      if (await summary.isVisible()) await summary.click()
    t.deepEqual(await axeFindings(page), [], name)
    await shoot(page, `board-${name}`)
    if (width === 390) {
      await page.getByRole('button', { name: 'Show 3 listings' }).click()
      t.true(await rowsOf(page).first().isVisible())
    }
    for (const n of [0, 1]) await rowsOf(page).nth(n).getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Compare', exact: true }).click()
    t.deepEqual(await axeFindings(page), [], `${name}, comparison`)
    await page.keyboard.press('Escape')
    await rowsOf(page).first().locator('.open').click()
    await page.getByRole('dialog').waitFor()
    t.deepEqual(await axeFindings(page), [], `${name}, sheet`)
    await shoot(page, `sheet-${name}`)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    t.true(Number(overflow) <= 0, `${name}: nothing lies beyond the edge`)
    t.deepEqual(page.faults, [])
  }
})

test.serial('board: the keyboard skips the filters, opens a sheet and returns', async (t) => {
  const { gateway } = await openFederation(t)
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await waitForCount(page, '7 listings')
  const focused = (): Promise<unknown> => page.evaluate('document.activeElement.textContent')
  await page.keyboard.press('Tab')
  t.is(await focused(), 'Skip to listings')
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
