import { openWatched, seriousFindings, shoot } from '../../helpers/browser-page.ts'
import { deadUrl } from '../../helpers/fake-registry.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { test } from '../in-chromium.ts'
import { openFederation } from './federation.ts'

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
  },
)
