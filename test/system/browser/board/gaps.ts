import type { Route } from 'playwright-core'
import { systemClock } from '../../../../src/domain/clock.ts'
import { openWatched } from '../../../helpers/browser-page.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { deadUrl, listingTexts } from '../../../helpers/fake-registry.ts'
import {
  startFake,
  startGateway,
  startPatientGateway,
  startUnchecked,
  whenReady,
} from '../../../helpers/gateway.ts'
import { openMarket } from '../../../helpers/market.ts'
import { test } from '../in-chromium.ts'
import { machine, rowsOf, waitForCount } from './federation.ts'

test.serial('board: names a lost source and marks the answer as incomplete', async (t) => {
  const near = await openMarket(t)
  for (const id of ['near-1', 'near-2', 'near-3']) await near.publish(machine(id, {}))
  const gateway = await startGateway(t, [
    { name: 'near', url: near.url },
    { name: 'far', url: deadUrl() },
  ])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  const banner = page.getByRole('alert')
  await banner.waitFor()
  t.regex(
    (await banner.textContent()) ?? '',
    /Results are incomplete\..*far is unavailable: it refused the connection \(connection_refused\)\./s,
  )
  await waitForCount(page, '3 listings found; far did not answer')
  await page.getByText('1 of 2 answered', { exact: true }).click()
  await page.locator('.source[data-state=unavailable]', { hasText: 'far' }).waitFor()

  await page.getByLabel('GPUs, at least', { exact: true }).fill('9')
  await page.keyboard.press('Tab')
  await waitForCount(page, 'No listing found, but not every registry answered.')
  t.is(await page.locator('.listings').count(), 0)

  await page.goto(`${gateway.url}/?sources=near`)
  await page.getByText('1 of 1 answered', { exact: true }).click()
  await page.locator('.source', { hasText: 'not queried' }).first().waitFor()
  t.deepEqual(await page.locator('.source strong').allTextContents(), ['local', 'far', 'near'])
  t.deepEqual(page.faults, [])
})

test.serial(
  'board: listings that are here are shown while a slow source is waited for, and the rest when it comes',
  async (t) => {
    const [near, far] = [
      await startFake(t, { items: listingTexts('near', 3, { storefront_url: 'https://near.example/' }) }),
      await startFake(t, { items: listingTexts('far', 2) }),
    ]
    let release = (): void => {}
    far.script = [{ kind: 'hold', until: new Promise<void>((resolve) => (release = resolve)) }]
    const upstreams = [
      { name: 'near', url: near.url },
      { name: 'far', url: far.url },
    ]
    const gateway = await startPatientGateway(t, upstreams, { isLoaded: false })
    await eventually('near is held', async () => (await gateway.get('/listings')).text.includes('near'))
    const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
    await waitForCount(page, '3 listings so far')
    t.is(await rowsOf(page).count(), 3)
    const banner = page
      .getByRole('status')
      .filter({ hasText: 'Some registries are still loading. The rest follows.' })
    await banner.getByText('far is not loaded yet.', { exact: true }).waitFor()
    t.is(await page.getByRole('alert').count(), 0, 'nothing is wrong')
    await page.getByText('1 of 2 answered', { exact: true }).click()
    await page.locator('.source', { hasText: /farnot loaded yet/ }).waitFor()
    release()
    await waitForCount(page, '5 listings')
    await page.getByText('2 of 2 answered', { exact: true }).waitFor()
    t.is(await page.getByText(/still loading/).count(), 0)
    t.is(await rowsOf(page).count(), 5)
    t.deepEqual(page.faults, [])
  },
)

test.serial('board: names a source whose first pull has failed, without being asked again', async (t) => {
  const [near, far] = [
    await startFake(t, { items: listingTexts('near', 3) }),
    await startFake(t, { items: listingTexts('far', 2), script: [{ kind: 'hang' }] }),
  ]
  const upstreams = [
    { name: 'near', url: near.url },
    { name: 'far', url: far.url },
  ]
  const gateway = await startPatientGateway(t, upstreams, { isLoaded: false })
  await eventually('near is held', async () => (await gateway.get('/listings')).text.includes('near'))
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await waitForCount(page, '3 listings so far')
  await far.close()
  await waitForCount(page, '3 listings found; far did not answer')
  await page
    .getByRole('alert')
    .getByText(/^far is unavailable: it /)
    .waitFor()
  t.deepEqual(page.faults, [])
})

test.serial(
  'board: while its only source is slow, a gateway is asked again, and shows it when it comes',
  async (t) => {
    const far = await startFake(t, { items: listingTexts('far', 2) })
    let release = (): void => {}
    far.script = [{ kind: 'hold', until: new Promise<void>((resolve) => (release = resolve)) }]
    const gateway = await startPatientGateway(t, [{ name: 'far', url: far.url }], {
      isLoaded: false,
      more: '[registry]\nenabled = false\n',
    })
    const page = await openWatched(t, t.context.browser, `${gateway.url}/`, {
      prepare: (page) => page.clock.install(),
    })
    const banner = page.getByRole('alert')
    await banner.getByText('far is not loaded yet.', { exact: true }).waitFor()
    await banner.getByText(/^The search is sent again /).waitFor()
    release()
    await whenReady(gateway)
    await page.clock.fastForward(60_000)
    await waitForCount(page, '2 listings')
    t.is(await page.getByRole('alert').count(), 0)
    t.deepEqual(page.faults, [])
  },
)

test.serial('board: ages are right after a refresh, and go on by themselves', async (t) => {
  let offsetMs = 0
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + offsetMs }
  const fake = await startFake(t, { items: listingTexts('kept', 2) })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }], { clock })
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`, {
    prepare: (page) => page.clock.install(),
  })
  await waitForCount(page, '2 listings')
  await page.getByText('1 of 1 answered', { exact: true }).click()
  await page.locator('.source', { hasText: /farOKjust now/ }).waitFor()
  offsetMs = 30_000
  let release = (): void => {}
  await page.route('**/listings?*', (route) => {
    release = () => void route.continue()
  })
  await page.getByRole('button', { name: 'Refresh' }).click()
  await waitForCount(page, 'Loading…')
  release()
  await page.unroute('**/listings?*')
  await page.locator('.source', { hasText: /farOK3\d s ago/ }).waitFor()
  await page.clock.fastForward(150_000)
  await page.locator('.source', { hasText: /farOK3 min ago/ }).waitFor()
  await page.getByText('updated 3 min ago').waitFor()
  const [item = ''] = listingTexts('later', 1, { created_at: '2026-11-21T00:00:00' })
  fake.items.unshift(item)
  offsetMs = 200_000
  await gateway.get('/listings', { 'Cache-Control': 'no-cache' })
  await page.getByRole('button', { name: 'Refresh' }).click()
  await waitForCount(page, '3 listings')
  await page.getByText('updated just now').waitFor()
  await fake.close()
  offsetMs = 500_000
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.locator('.source', { hasText: /cached copy.*[56] min ago/ }).waitFor()
  await page.getByText(/^0 of 1 answered · far: copy from [56] min ago$/).waitFor()
  await page.getByText(/updated [56] min ago/).waitFor()
  t.is(await rowsOf(page).filter({ hasText: 'cached copy' }).count(), 3)
  t.is(await page.getByRole('alert').count(), 0)
  t.deepEqual(page.faults, [])
})

test.serial(
  'board: a refused value is marked at its field, a refused key is dropped, and the old answer stays',
  async (t) => {
    const fake = await startFake(t, { items: listingTexts('far', 2) })
    const gateway = await startGateway(
      t,
      [
        { name: 'far', url: fake.url },
        { name: 'hidden', url: deadUrl(), settings: 'visibility = "private"' },
      ],
      { more: '[access]\nannounce_private = true\n' },
    )
    const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
    await waitForCount(page, '2 listings')
    const least = page.getByLabel('GPUs, at least', { exact: true })
    for (const text of ['abc', '1,000', '2.5']) {
      await least.fill(text)
      await page.keyboard.press('Tab')
      await page.getByText('Enter a whole number').waitFor()
      t.is(await least.getAttribute('aria-invalid'), 'true')
      t.is(await rowsOf(page).count(), 2)
    }
    await least.fill('8')
    await page.keyboard.press('Tab')
    await waitForCount(page, 'No listing matches.')
    await page.getByLabel('GPUs, at most', { exact: true }).fill('2')
    await page.keyboard.press('Tab')
    await page.getByText('The lower end is above the upper end.').waitFor()
    await page.getByLabel('Seller (address)').fill('bob')
    await page.keyboard.press('Tab')
    await page.getByText('Enter an address').waitFor()
    t.is(new URL(page.url()).search, '?gpu_count_min=8')

    await page.goto(`${gateway.url}/`)
    await waitForCount(page, '2 listings')
    await page.getByLabel('API key').fill('wrong')
    await page.keyboard.press('Enter')
    await page.getByText('Key rejected. Showing public listings.').waitFor()
    await page.getByText('There are private registries. Enter an API key to include them.').waitFor()
    t.is(await rowsOf(page).count(), 2)
    t.is(await page.evaluate('sessionStorage.length'), 0)

    await page.goto(`${gateway.url}/?gpu_count_min=x`)
    await page.getByRole('alert').getByText("gpu_count_min: expected integer, got 'x'").first().waitFor()
    await page.getByText('Enter a whole number').waitFor()
    t.is(
      await page.getByRole('form', { name: 'Filters' }).getByRole('alert').count(),
      1,
      'at that field only',
    )
    t.is(await page.getByRole('button', { name: 'Try again' }).count(), 0)
    t.deepEqual(page.faults, [])
  },
)

test.serial('board: requests that fail alone, hang or come too often say so, and end', async (t) => {
  const fake = await startFake(t, { items: listingTexts('far', 2) })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const busy = (route: Route) => route.fulfill({ status: 503, body: '{"detail":"busy"}' })
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`, {
    prepare: async (page) => {
      await page.clock.install()
      await page.route('**/filter-spec', busy)
    },
  })
  await waitForCount(page, '2 listings')
  await page.getByText('Filters could not be loaded.').waitFor()
  await page.unroute('**/filter-spec')
  await page.getByRole('button', { name: 'Load the filters again' }).click()
  await page.getByLabel('GPUs, at least', { exact: true }).waitFor()

  await page.route('**/listings?*', () => {})
  await page.getByRole('button', { name: 'Refresh' }).click()
  await waitForCount(page, 'Loading…')
  t.is(await rowsOf(page).count(), 2)
  await page.clock.fastForward(16_000)
  await page.getByText('No answer within 15 s.').waitFor()
  await page.unroute('**/listings?*')
  await page.getByRole('button', { name: 'Try again' }).click()
  await waitForCount(page, '2 listings')

  await page.route('**/listings?*', (route) =>
    route.fulfill({ status: 429, headers: { 'Retry-After': '12' }, body: '{"detail":"too many requests"}' }),
  )
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByText('The search is sent again in 12 s.').waitFor()
  await page.unroute('**/listings?*')
  await page.clock.fastForward(13_000)
  await waitForCount(page, '2 listings')
  t.is(await page.getByRole('alert').count(), 0)
  t.deepEqual(page.faults, [])
})

test.serial('board: the sheet warns of a possible better copy and a disputed seller', async (t) => {
  const [alice, elsewhere] = [`0x${'a'.repeat(40)}`, 'http://elsewhere.example/']
  const trusted = await startFake(t, {
    items: listingTexts('known', 2, { storefront_url: elsewhere }),
    publishers: [[1, alice, elsewhere]],
  })
  const other = await startFake(t, {
    items: listingTexts('odd', 1, { status: 'closed' }),
    publishers: [[1, alice]],
  })
  const gateway = await startGateway(t, [
    { name: 'trusted', url: trusted.url },
    { name: 'other', url: other.url },
  ])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await waitForCount(page, '2 listings')
  trusted.listingScript = { kind: 'status', status: 503 }
  await page.goto(`${gateway.url}/?gpu_model=H100#listing=odd-0000`)
  const sheet = page.getByRole('dialog')
  await sheet.waitFor()
  const text = (await sheet.textContent()) ?? ''
  t.regex(text, /disputed.*trusted has another storefront for this seller/s)
  t.regex(text, /incomplete.*may have a better copy/s)
  t.deepEqual(page.faults, [])
})

test.serial('board: of a registry that is held in part, unchecked listings are marked so', async (t) => {
  const { accepted_escrows } = machine('x', {})
  const { url } = await startUnchecked(t, { accepted_escrows })
  const page = await openWatched(t, t.context.browser, `${url}/`)
  await page.getByText(/ large is held in part: 100 of 300\./).waitFor()
  await waitForCount(page, 'At least 101 listings')
  await page.getByText('Some registries are held in part. Results are incomplete.').waitFor()
  t.is(await page.locator('.flag').filter({ hasText: 'unchecked' }).count(), 1)
  await page.goto(`${url}/#listing=small-0000`)
  const sheet = page.getByRole('dialog')
  await sheet.waitFor()
  const text = (await sheet.textContent()) ?? ''
  t.regex(text, /unchecked.*large could not be asked, and may have other terms, or have it closed/s)
  t.regex(text, /Read from its registry\s*(now|just now|\d+ s ago)/)
  t.deepEqual(page.faults, [])
})

test.serial('board: a listing that a better registry lacks is marked in its row and sheet', async (t) => {
  const alice = `0x${'a'.repeat(40)}`
  const trusted = await startFake(t, { items: listingTexts('known', 2), publishers: [[1, alice]] })
  const other = await startFake(t, { items: listingTexts('odd', 1), publishers: [[1, alice]] })
  const { url } = await startGateway(t, [
    { name: 'trusted', url: trusted.url },
    { name: 'other', url: other.url },
  ])
  const page = await openWatched(t, t.context.browser, `${url}/`)
  await waitForCount(page, '3 listings')
  const flag = page.locator('.flag').filter({ hasText: 'not in a better registry' })
  t.is(await flag.count(), 1)
  t.regex((await flag.textContent()) ?? '', /trusted has this seller without this listing/)
  await page.goto(`${url}/#listing=odd-0000`)
  const sheet = page.getByRole('dialog')
  await sheet.waitFor()
  t.regex(
    (await sheet.textContent()) ?? '',
    /not in a better registry.*trusted has this seller without this/s,
  )
  t.deepEqual(page.faults, [])
})

test.serial('board: without any source, gives the reasons and a way to try again', async (t) => {
  const far = await startFake(t, { items: listingTexts('far', 2), script: [{ kind: 'status', status: 503 }] })
  const gateway = await startGateway(
    t,
    [
      { name: 'far', url: far.url },
      { name: 'gone', url: deadUrl() },
    ],
    { more: '[registry]\nenabled = false\n' },
  )
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  const banner = page.getByRole('alert')
  await banner.waitFor()
  const text = (await banner.textContent()) ?? ''
  t.regex(text, /Listings could not be loaded/)
  t.regex(text, /far is unavailable: it (answered with status 503|keeps failing)/)
  t.regex(text, /gone is unavailable: it refused the connection/)
  t.is(await page.locator('.listings').count(), 0)
  await page.getByText('0 of 2 answered', { exact: true }).waitFor()
  t.is(await page.getByRole('button', { name: 'Try again' }).count(), 1)
  t.deepEqual(page.faults, [])
})
