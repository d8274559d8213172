import { systemClock } from '../../../src/domain/clock.ts'
import { openWatched } from '../../helpers/browser-page.ts'
import { deadUrl, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { openMarket } from '../../helpers/market.ts'
import { test } from '../in-chromium.ts'
import { machine } from './federation.ts'

test.serial('board: names a lost source and marks the answer as incomplete', async (t) => {
  const near = await openMarket(t)
  const closers: (() => unknown)[] = []
  const far = await openMarket({
    teardown: (close: () => unknown) => closers.push(close),
  } as unknown as typeof t)
  for (const id of ['near-1', 'near-2', 'near-3']) await near.publish(machine(id, {}))
  for (const id of ['far-1', 'far-2']) await far.publish(machine(id, {}))
  const gateway = await startGateway(t, [
    { name: 'near', url: near.url },
    { name: 'far', url: far.url },
  ])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await page.getByText('5 listings match.').waitFor()
  t.is(await page.getByRole('alert').count(), 0)

  for (const close of closers) await close()
  await page.getByLabel('gpu count, at least', { exact: true }).fill('1')
  await page.keyboard.press('Tab')
  const banner = page.getByRole('alert')
  await banner.waitFor()
  t.regex(
    (await banner.textContent()) ?? '',
    /incomplete\..*far is unavailable: it refused the connection \(connection_refused\)\./s,
  )
  t.is(await page.getByText('3 listings match at the Registries that answered.').count(), 1)
  t.is(await page.locator('.source[data-state=unavailable]').count(), 1)

  await page.getByLabel('gpu count, at least', { exact: true }).fill('9')
  await page.keyboard.press('Tab')
  await page.getByText('No listing was found, but not every Registry answered.').waitFor()
  t.is(await page.locator('.listings').count(), 0)
  t.deepEqual(page.faults, [])
})

test.serial('board: marks stale listings, and does not report their source as missing', async (t) => {
  let offsetMs = 0
  const clock = { ...systemClock, now: () => systemClock.now() + offsetMs }
  const fake = await startFake(t, { items: listingTexts('kept', 2) })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }], { clock })
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await page.getByText('2 listings match.').waitFor()
  await fake.close()
  offsetMs = 120_000
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.locator('.source', { hasText: /stale.*2 min ago/ }).waitFor()
  t.is(await page.locator('.listings tbody tr', { hasText: 'stale' }).count(), 2)
  t.is(await page.getByRole('alert').count(), 0)
  t.deepEqual(page.faults, [])
})

test.serial('board: the sheet warns of a possible better copy and a disputed seller', async (t) => {
  const [alice, elsewhere] = [`0x${'a'.repeat(40)}`, 'http://elsewhere.example/']
  const trusted = await startFake(t, {
    items: listingTexts('known', 2),
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
  await page.getByText('2 listings match.').waitFor()
  trusted.listingScript = { kind: 'status', status: 503 }
  await page.goto(`${gateway.url}/?gpu_model=H100#listing=odd-0000`)
  const sheet = page.getByRole('dialog')
  await sheet.waitFor()
  const text = (await sheet.textContent()) ?? ''
  t.regex(text, /Disputed.*trusted has another storefront for this publisher/s)
  t.regex(text, /Incomplete.*may have a better copy/s)
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
  t.regex(text, /The listings could not be loaded/)
  t.regex(text, /far is unavailable: it (answered with status 503|failed repeatedly)/)
  t.regex(text, /gone is unavailable: it refused the connection/)
  t.is(await page.locator('.listings').count(), 0)
  t.is(await page.getByText('No listings could be loaded.').count(), 1)
  t.is(await page.getByRole('button', { name: 'Try again' }).count(), 1)
  t.deepEqual(page.faults, [])
})

test.serial('board: names the sources that an upstream gateway misses', async (t) => {
  const fake = await startFake(t, { items: listingTexts('far', 2) })
  const inner = await startGateway(t, [
    { name: 'far', url: fake.url },
    { name: 'gone', url: deadUrl() },
  ])
  const outer = await startGateway(t, [{ name: 'eu', url: inner.url, settings: 'kind = "gateway"' }], {
    more: '[gateway]\nid = "outer"\n',
  })
  const page = await openWatched(t, t.context.browser, `${outer.url}/`)
  const banner = page.getByRole('alert')
  await banner.waitFor()
  t.regex(
    (await banner.textContent()) ?? '',
    /eu\/gone is unavailable: it refused the connection \(connection_refused\)\./,
  )
  t.is(await page.locator('.listings tbody tr', { hasText: 'eu/far' }).count(), 2)
  t.deepEqual(await page.locator('fieldset.filter label').allTextContents(), ['local', 'eu'])
  t.deepEqual(page.faults, [])
})
