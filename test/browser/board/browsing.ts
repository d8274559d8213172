import { openWatched } from '../../helpers/browser-page.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { BOB } from '../../helpers/seller.ts'
import { test } from '../in-chromium.ts'
import { openFederation } from './federation.ts'

test.serial('board: the address follows filters, order, sheet and the back button', async (t) => {
  const { gateway } = await openFederation(t)
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await page.getByText('7 listings match.').waitFor()
  t.is(await page.locator('.listings tbody tr').count(), 7)
  t.is(await page.locator('.listings tbody tr', { hasText: 'same id' }).count(), 2)
  const shared = page.locator('.listings tbody tr', { hasText: '4 × H200' })
  t.regex((await shared.textContent()) ?? '', /differs.*123,456,789,012,345,678,901.*east also in west/s)

  await page.locator('.order select').selectOption('price')
  t.is(new URL(page.url()).hash, '#order=price')
  await page.goBack()

  await page.getByText('gpu model', { exact: true }).locator('..').locator('summary').click()
  await page.getByLabel('A100', { exact: true }).check()
  await page.getByText('3 listings match.').waitFor()
  await page.getByLabel('vcpu count, at least').fill('32')
  await page.keyboard.press('Tab')
  await page.getByText('2 listings match.').waitFor()
  t.is(new URL(page.url()).search, '?gpu_model=A100&vcpu_count_min=32')
  t.deepEqual(
    await page.locator('.sources li').allTextContents(),
    (await page.locator('.sources li').allTextContents()).filter((text) => /loaded/.test(text)),
  )

  await page.getByRole('button', { name: '8 × A100' }).first().focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  t.is(new URL(page.url()).hash, '#listing=east-2&registry=east')
  t.is(await page.getByRole('list', { name: 'Lifecycle' }).getByRole('listitem').count(), 7)
  await page.keyboard.press('Escape')
  await page.waitForURL(({ hash }) => hash === '')

  await page.goBack()
  await page.getByRole('dialog').waitFor()
  await page.goBack()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.goBack()
  await page.getByText('3 listings match.').waitFor()
  t.is(await page.getByLabel('vcpu count, at least').inputValue(), '')
  await page.goForward()
  await page.getByText('2 listings match.').waitFor()
  t.deepEqual(page.faults, [])
})

test.serial('board: a shared address opens the same view and sheet', async (t) => {
  const { gateway } = await openFederation(t)
  const page = await openWatched(
    t,
    t.context.browser,
    `${gateway.url}/?gpu_model=A100#listing=west-0&registry=west`,
  )
  const sheet = page.getByRole('dialog')
  await sheet.waitFor()
  t.regex((await sheet.textContent()) ?? '', new RegExp(BOB.address, 'i'))
  t.is(await page.getByText('3 listings match.').count(), 1)
  t.deepEqual(page.faults, [])
})

test.serial('board: the sheet shows exact JSON, the page the query as commands', async (t) => {
  const exact =
    '{"listing_id":"exact","offer_resource":{"gpu_model":"H200","sla":99.0,"serial":9007199254740993,"note":"\\u202e"},"created_at":"2026-11-20T15:33:44.792803","status":"open"'
  const fake = await startFake(t, { items: [`${exact}}`] })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/?region=it%27s%20$(here)`)
  await page.getByText('No listing matches').waitFor()
  await page.getByText('This query as a command').click()
  t.deepEqual(await page.locator('.elsewhere pre').allTextContents(), [
    `curl -g '${gateway.url}/listings?region=it%27s+%24%28here%29'`,
    `entrepot listings -r ${gateway.url} --filter='region=it'\\''s $(here)'`,
  ])
  await page.goto(`${gateway.url}/#listing=exact`)
  const raw = (await page.getByLabel('JSON of the listing').textContent()) ?? ''
  t.true(raw.startsWith(`${exact},"_meta":`), raw)
  t.deepEqual(page.faults, [])
})

test.serial('board: a key opens private sources and stays in its tab', async (t) => {
  const fake = await startFake(t, { items: listingTexts('secret', 2) })
  const gateway = await startGateway(
    t,
    [{ name: 'hidden', url: fake.url, settings: 'visibility = "private"' }],
    {
      environment: { REGISTRY_REQUIRE_READ_API_KEY: 'on', REGISTRY_BOOTSTRAP_API_KEY: 'a-reader-key' },
    },
  )
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  const requested: string[] = []
  page.on('request', (request) => requested.push(request.url()))
  await page.getByRole('alert').getByText('API key required').waitFor()
  await page.getByLabel('Reader key').fill('a-reader-key')
  await page.keyboard.press('Enter')
  await page.getByText('2 listings match.').waitFor()
  await page.reload()
  await page.getByText('2 listings match.').waitFor()
  t.true(requested.length > 3)
  t.false([page.url(), ...requested].join().includes('a-reader-key'))
  t.false((await page.content()).includes('a-reader-key'))
  t.is(await page.evaluate('localStorage.length'), 0)
  const other = await page.context().newPage()
  await other.goto(gateway.url)
  await other.getByText('API key required').waitFor()
  await page.getByRole('button', { name: 'Forget key' }).click()
  await page.getByText('API key required').waitFor()
  t.is(await page.locator('.listings').count(), 0, 'the listings of a forgotten key are removed')
  t.is(await page.evaluate('sessionStorage.length'), 0)
  t.deepEqual(page.faults, [])
})
