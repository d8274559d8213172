import { openWatched } from '../../helpers/browser-page.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { send } from '../../helpers/registry.ts'
import { test } from './in-chromium.ts'

const PAGES = ['/', '/operator'] as const
const MAX_WARM_REQUESTS = 6

/** Requests that reached the gateway, without those of this function and of pages that wait for more than a second. */
function requestCounter(url: string): () => Promise<number> {
  let own = 0
  return async () => {
    const { text } = await send(`${url}/metrics`)
    const counts = [...text.matchAll(/^entrepot_requests_total\{(?!.*"\/sources").*\} (\d+)$/gm)].map(
      ([, count]) => Number(count),
    )
    return counts.reduce((sum, count) => sum + count, 0) - own++
  }
}

test.serial('pages: a warm load takes at most 6 requests, and no file twice', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 30) })
  const { url } = await startGateway(t, [{ name: 'a', url: fake.url }], {
    environment: { METRICS_PUBLIC: 'true' },
  })
  const count = requestCounter(url)
  for (const path of PAGES) {
    const page = await openWatched(t, t.context.browser, url + path)
    await page.waitForLoadState('networkidle')
    const cold = await count()
    await page.goto('about:blank')
    await page.goto(url + path)
    await page.waitForLoadState('networkidle')
    const warm = (await count()) - cold
    t.true(warm <= MAX_WARM_REQUESTS, `${path}: ${warm} requests`)
    t.deepEqual(page.faults, [])
  }
})

test.serial('pages: header and text paint before scripts, and the header keeps its height', async (t) => {
  const { url } = await startGateway(t, [])
  for (const path of PAGES)
    for (const width of [390, 1440]) {
      const page = await openWatched(t, t.context.browser, 'about:blank', {
        viewport: { width, height: 800 },
      })
      const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
      const scripts = new Set<string>()
      await page.route(/\.(ts|js)$/, async (route) => {
        scripts.add(route.request().url())
        await isReleased
        await route.continue()
      })
      await page.goto(url + path, { waitUntil: 'commit' })
      await page.locator('.loading').waitFor()
      await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0)
      const height = () => page.evaluate('document.querySelector("header").offsetHeight')
      const before = await height()
      const requested = scripts.size
      release()
      await page.locator('.loading').waitFor({ state: 'detached' })
      t.is(await height(), before, `${path} ${width}`)
      const later = [...scripts].slice(requested).filter((address) => !address.endsWith('uplot.js'))
      t.deepEqual(later, [], 'no module waits for another')
      t.is(await page.locator('header').count(), 1)
    }
})

test.serial('pages: with files of another version a page reloads once, then says so', async (t) => {
  const { url } = await startGateway(t, [])
  const page = await openWatched(t, t.context.browser, 'about:blank')
  let loads = 0
  let missing = 1
  page.on('request', (request) => {
    if (request.isNavigationRequest()) loads++
  })
  await page.route('**/assets/**', (route) =>
    loads <= missing ? route.fulfill({ status: 404 }) : route.continue(),
  )
  await page.goto(`${url}/operator`)
  await page.getByRole('heading', { name: 'Operator sign-in' }).waitFor()
  t.is(loads, 2)
  loads = 0
  missing = 9
  await page.goto(`${url}/operator`)
  await page.getByText('This page could not be loaded.').waitFor()
  await page.waitForLoadState('networkidle')
  t.is(loads, 2)
})
