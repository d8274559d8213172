import { axeFindings, LOOKS, openWatched, shoot } from '../../helpers/browser-page.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { ALICE, publish } from '../../helpers/seller.ts'
import { test } from './in-chromium.ts'

const HOSTILE = '</pre><img src=x onerror=alert(1)><script>alert(2)</script>\u202etxt\u0007'

/** Links of the side list whose words are on two lines. Runs in the page. */
const BROKEN_PATHS = `[...document.querySelectorAll('.contents li a')].filter((link) =>
  [...link.childNodes].some((node) => {
    const range = document.createRange()
    range.selectNodeContents(node)
    return node.nodeType === 3 && !/[ -]/.test(node.textContent) && range.getClientRects().length > 1
  })).map((link) => link.textContent)`

/** Links of the side list where the text of the page is. Runs in the page. */
const COVERED = `[...document.querySelectorAll('.contents a')].filter((link) => {
  const { left, top, height } = link.getBoundingClientRect()
  const there = document.elementsFromPoint(left + 1, top + height / 2)
  return there.includes(link) && there.some((element) => element.closest('main') !== null)
}).map((link) => link.textContent)`

/** Short cells whose word is on two lines. Runs in the page. */
const BROKEN_WORDS = `[...document.querySelectorAll('#getListings td')]
  .filter((cell) => {
    const range = document.createRange()
    range.selectNodeContents(cell)
    const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top / 8)))
    return /^(query|header|string|integer|\\d+)$/.test(cell.textContent) && lines.size > 1
  })
  .map((cell) => cell.textContent)`

test.serial('docs page: axe finds nothing and no word breaks, light and wide, dark and narrow', async (t) => {
  const { url } = await startGateway(t, [])
  for (const [colorScheme, width] of LOOKS) {
    const page = await openWatched(t, t.context.browser, `${url}/docs`, {
      colorScheme,
      viewport: { width, height: 900 },
    })
    await page.getByRole('searchbox', { name: 'Search' }).waitFor()
    await shoot(page, `docs-${colorScheme}-${width}`)
    t.deepEqual(await page.evaluate(COVERED), [])
    for (const summary of await page.locator('#getListings summary').all()) await summary.click()
    t.deepEqual(await axeFindings(page), [], `${colorScheme} ${width}`)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    t.true(Number(overflow) <= 0, `${width}: nothing lies beyond the edge`)
    for (const shown of [width, 1024]) {
      await page.setViewportSize({ width: shown, height: 900 })
      t.deepEqual(await page.evaluate(BROKEN_WORDS), [], String(shown))
      t.deepEqual(await page.evaluate(BROKEN_PATHS), [], String(shown))
    }
    t.deepEqual(page.faults, [])
  }
})

test.serial('docs page: search narrows routes and schemas, anchors lead to a route', async (t) => {
  const { url } = await startGateway(t, [])
  const page = await openWatched(t, t.context.browser, `${url}/docs#getFilterSpec`)
  t.true(await page.locator('#getFilterSpec').evaluate((element) => element.matches(':target')))
  const routes = page.locator('article:visible')
  const all = await routes.count()
  const box = page.getByRole('searchbox', { name: 'Search' })
  await box.fill('mint key')
  await page.getByRole('status').getByText('found').first().waitFor()
  t.regex((await page.getByRole('status').textContent()) ?? '', /^\d+ routes? and \d+ schemas? found$/)
  const counted = Number.parseInt((await page.getByRole('status').textContent()) ?? '', 10)
  t.is(await page.locator('.contents li:visible').count(), counted, 'as many as the side lists')
  t.true(await page.locator('#postAdminApiKeys').isVisible())
  t.false(await page.locator('#getListings').isVisible())
  t.false(await page.getByRole('link', { name: 'GET /listings', exact: true }).first().isVisible())
  await box.fill('')
  t.is(await routes.count(), all)
  t.is(await page.getByRole('link', { name: 'Board' }).getAttribute('href'), './')
})

test.serial(
  'docs page: “Try it” shows an answer as text, with the key, and curl has the address',
  async (t) => {
    const { url } = await startGateway(t, [], {
      environment: { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_BOOTSTRAP_API_KEY: 'k'.repeat(43) },
    })
    const headers = { Authorization: `Bearer ${'k'.repeat(43)}` }
    await publish(url, ALICE, { listing_id: 'one', offer_resource: { region: HOSTILE } }, { headers })
    const page = await openWatched(t, t.context.browser, `${url}/docs`)
    const route = page.locator('#getListings')
    t.true(
      (await route.locator('.curl').textContent())?.includes(`${url}/listings?gpu=H200&sort=price&limit=1`),
    )
    await route.getByLabel('GET').fill('listings')
    const tryIt = route.getByRole('button', { name: 'Try it' })
    await tryIt.click()
    await route.getByText('401 Unauthorized').waitFor()
    await page.getByLabel('API key').fill('k'.repeat(43))
    await tryIt.click()
    await route.getByText('200 OK').waitFor()
    const answer = (await route.getByLabel('Answer', { exact: true }).textContent()) ?? ''
    t.true(answer.includes('</pre><img src=x onerror=alert(1)><script>alert(2)</script>'))
    t.false(answer.includes('\u202e'))
    t.regex(answer, /^\{\n {2}"items": \[/)
    const tool = route.locator('pre[aria-label="MCP tool"]')
    t.regex((await tool.textContent()) ?? '', /^\{"name":"search_listings","arguments":/)
    await route.getByLabel('GET').fill('https://elsewhere.example/')
    await tryIt.click()
    await route.getByText(`The address has to be below ${url}/`).waitFor()
    t.deepEqual(page.faults, [])
  },
)
