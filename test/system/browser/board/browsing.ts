import { openWatched } from '../../../helpers/browser-page.ts'
import { listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { ALICE, BOB } from '../../../helpers/seller.ts'
import { test } from '../in-chromium.ts'
import { escrow, openFederation, rowsOf, waitForCount } from './federation.ts'

test.serial('board: values narrow, steps back are few, Back never reopens a sheet', async (t) => {
  const { gateway } = await openFederation(t)
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`, {
    viewport: { width: 1440, height: 900 },
  })
  await waitForCount(page, '7 listings')
  t.is(await rowsOf(page).count(), 7)
  t.is(await rowsOf(page).filter({ hasText: 'duplicate ID' }).count(), 2)
  const shared = rowsOf(page).filter({ hasText: '4 × H200' })
  t.regex(
    (await shared.textContent()) ?? '',
    /30,864,197,253,087 USDC\/GPU·h.*4 × H200.*versions differ.*east also in west/s,
  )

  for (const model of ['A100', 'H200'])
    await page.getByRole('checkbox', { name: new RegExp(`^${model}`) }).check()
  await page.getByRole('button', { name: /GPU model: A100, H200/ }).waitFor()
  await page.waitForFunction("document.title === 'A100, H200 · entrepot'")
  await page.goBack()
  await page.locator('.chips').waitFor({ state: 'detached' })
  t.is(new URL(page.url()).search, '', 'both choices were one step')

  await page.getByRole('checkbox', { name: /^A100/ }).check()
  await waitForCount(page, '3 listings')
  await page.getByLabel('vCPUs, at least').fill('32')
  await page.keyboard.press('Tab')
  await waitForCount(page, '2 listings')
  t.is(new URL(page.url()).search, '?gpu=A100&sort=price&vcpu_count_min=32')

  await page.getByRole('link', { name: '8 × A100', exact: true }).first().focus()
  await page.keyboard.press('Enter')
  const sheet = page.getByRole('dialog')
  await sheet.waitFor()
  t.is(new URL(page.url()).hash, '#listing=east-2&registry=east')
  await page.keyboard.press('Escape')
  await page.waitForURL(({ hash }) => hash === '')
  await page.goBack()
  await waitForCount(page, '3 listings')
  t.is(await sheet.count(), 0)
  t.is(await page.getByLabel('vCPUs, at least').inputValue(), '')

  await page.getByRole('button', { name: /GPU model: A100/ }).click()
  await waitForCount(page, '7 listings')
  await page
    .getByRole('link', { name: new RegExp(`^${ALICE.address.slice(0, 6)}`, 'i') })
    .first()
    .click()
  await page.getByRole('button', { name: /^Seller: 0x/ }).waitFor()
  t.is(new URL(page.url()).searchParams.get('publisher'), ALICE.address.toLowerCase())
  t.deepEqual(page.faults, [])
})

test.serial('board: an offer is a link, its text can be selected, two can be compared', async (t) => {
  const { gateway } = await openFederation(t)
  const page = await openWatched(t, t.context.browser, `${gateway.url}/`)
  await waitForCount(page, '7 listings')
  const offer = page.getByRole('link', { name: '4 × H200', exact: true })
  t.regex((await offer.getAttribute('href')) ?? '', /#listing=shared&registry=east$/)
  const opened = page.context().waitForEvent('page')
  await offer.click({ modifiers: ['ControlOrMeta'] })
  await (await opened).getByRole('dialog').waitFor()
  await rowsOf(page).first().locator('time').dblclick()
  t.is(await page.getByRole('dialog').count(), 0, 'a double click selects a word')
  t.not(await page.evaluate('String(getSelection())'), '')
  t.regex(
    (await rowsOf(page)
      .first()
      .getByRole('link', { name: /^Storefront/ })
      .getAttribute('href')) ?? '',
    /example/,
  )

  for (const n of [0, 3]) await rowsOf(page).nth(n).getByRole('checkbox').check()
  await page.getByRole('button', { name: 'Compare', exact: true }).click()
  const comparison = page.getByRole('dialog', { name: 'Compare 2 listings' })
  await comparison.getByRole('row', { name: 'GPU model H200 H200' }).waitFor()
  const shared = page.url()
  t.is(new URLSearchParams(new URL(shared).hash.slice(1)).getAll('compare').length, 2)
  const other = await openWatched(t, t.context.browser, `${shared}&compare=west%3Agone`)
  const restored = other.getByRole('dialog', { name: 'Compare 2 listings' })
  await restored.getByText('1 listing of this address left out').waitFor()
  await restored.getByRole('link', { name: /H200/ }).first().click()
  await other.getByText('How to rent').first().waitFor()
  t.deepEqual(other.faults, [])
  await page.keyboard.press('Escape')
  await comparison.waitFor({ state: 'detached' })
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'CSV' }).click()
  t.is((await download).suggestedFilename(), 'listings.csv')
  t.deepEqual(page.faults, [])
})

test.serial('board: a row opens its sheet wherever it is clicked beside its links', async (t) => {
  const { gateway } = await openFederation(t)
  const page = await openWatched(t, t.context.browser, `${gateway.url}/?gpu=A100`)
  await waitForCount(page, '3 listings')
  const row = rowsOf(page).first()
  const sheet = page.getByRole('dialog')
  for (const cell of ['.price', '.region', '.listed']) {
    await row.locator(cell).click({ position: { x: 2, y: 40 } })
    await sheet.waitFor()
    await page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'detached' })
  }
  await row.getByRole('checkbox').check()
  await row.locator('.registry a').first().click()
  await page.waitForURL(({ search }) => search.includes('sources='))
  t.is(await sheet.count(), 0)
  t.deepEqual(page.faults, [])
})

test.serial('board: a sheet says only what the listing says of who decides about a payment', async (t) => {
  const paid = { accepted_escrows: [escrow('1000000')] }
  const demands = [{ arbiter: `0x${'d'.repeat(40)}`, chain_name: 'base' }]
  const items = [
    listingText({ listing_id: 'arbiter', ...paid, demands }),
    listingText({ listing_id: 'silent', ...paid }),
    listingText({ listing_id: 'free' }),
  ]
  const fake = await startFake(t, { items })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  for (const [id, words] of [
    ['arbiter', /once the arbiter below confirms delivery/],
    ['silent', /does not say who decides/],
    ['free', /names no escrow/],
  ] as const) {
    const page = await openWatched(t, t.context.browser, `${gateway.url}/#listing=${id}`)
    const text = (await page.getByRole('dialog').textContent()) ?? ''
    t.regex(text, words)
    t.is(text.includes('the arbiter below'), id === 'arbiter')
  }
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
  await sheet.getByText(/^2 open listings since 20[\d-]{8}, in west \(2\)$/).waitFor()
  await waitForCount(page, '3 listings')
  await page.keyboard.press('Escape')
  await page.waitForURL(({ hash }) => hash === '')
  await page.goto(`${gateway.url}/#listing=x&registry=hidden`)
  await page
    .getByText('is in a registry that you cannot see. If you have an API key, enter it above.')
    .waitFor()
  t.deepEqual(page.faults, [])
})

test.serial('board: the sheet shows exact JSON, the page the query as commands', async (t) => {
  const exact =
    '{"listing_id":"exact","offer_resource":{"gpu_model":"H200","sla":99.0,"serial":9007199254740993,"note":"\\u202e"},"created_at":"2026-11-20T15:33:44.792803","status":"open"'
  const fake = await startFake(t, { items: [`${exact}}`] })
  const gateway = await startGateway(t, [{ name: 'far', url: fake.url }])
  const page = await openWatched(t, t.context.browser, `${gateway.url}/?region=it%27s%20$(here)`)
  await waitForCount(page, 'No listing matches.')
  await page.getByText('without this: 1').waitFor()
  await page.getByText('Run this search in a terminal').click()
  t.deepEqual(await page.locator('.elsewhere pre').allTextContents(), [
    `curl -g '${gateway.url}/listings?region=it%27s+%24%28here%29'`,
    `entrepot listings -r ${gateway.url} --filter='region=it'\\''s $(here)'`,
  ])
  await page.goto(`${gateway.url}/#listing=exact`)
  await page.getByText('Raw JSON').click()
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
  await page.getByRole('alert').getByText('Enter a key above, or ask the operator for one').waitFor()
  for (const key of ['another-key', 'a-reader-key']) {
    await page.getByLabel('API key').fill(key)
    await page.keyboard.press('Enter')
    if (key === 'another-key') await page.getByText('Key rejected. Showing public listings.').waitFor()
  }
  await waitForCount(page, '2 listings')
  t.is(await page.evaluate('document.activeElement.textContent'), 'Remove key')
  await page.reload()
  await waitForCount(page, '2 listings')
  t.true(requested.length > 3)
  t.false([page.url(), ...requested].join().includes('a-reader-key'))
  t.false((await page.content()).includes('a-reader-key'))
  t.is(await page.evaluate('localStorage.length'), 0)
  const other = await page.context().newPage()
  await other.goto(gateway.url)
  await other.getByText('API key required').waitFor()
  await page.getByRole('button', { name: 'Remove key' }).click()
  await page.getByText('API key required').waitFor()
  t.is(await page.evaluate('document.activeElement.type'), 'password')
  t.is(
    await page.locator('.listings, .sources, .facts-line strong').count(),
    0,
    'what a forgotten key showed is removed',
  )
  t.is(await page.evaluate('sessionStorage.length'), 0)
  t.deepEqual(page.faults, [])
})
