import { readFile } from 'node:fs/promises'
import type { Route } from 'playwright-core'
import { openWatched } from '../../helpers/browser-page.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { test } from '../in-chromium.ts'

const busy = (route: Route): Promise<void> => route.fulfill({ status: 503, body: '{"detail":"busy"}' })

test.serial('board: after a failure the page that is wanted is loaded, and a file is whole', async (t) => {
  const fake = await startFake(t, { items: listingTexts('far', 330) })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/#page=3`, {
    prepare: (page) => page.route(/cursor=/, busy),
  })
  await page.getByText('Loading stopped after 100 of 330.').waitFor()
  const files: string[] = []
  page.on('download', (download) => files.push(download.suggestedFilename()))
  await page.getByRole('button', { name: 'JSON' }).click()
  await page.unroute(/cursor=/)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('201 to 300 of 330').waitFor()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'CSV' }).click()
  const lines = (await readFile(await (await saved).path(), 'utf8')).trimEnd().split('\r\n')
  t.is(lines.length, 331)
  t.deepEqual(files, ['listings.csv'])
  t.deepEqual(page.faults, [])
})
