import type { ExecutionContext } from 'ava'
import type { Browser, Locator, Page, Route } from 'playwright-core'
import type { FleetJson } from '../../../src/wire/fleet.ts'
import { axeFindings, LOOKS, openWatched, shoot, type WatchedPage } from '../../helpers/browser-page.ts'
import { eventually } from '../../helpers/eventually.ts'
import { deadUrl, listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { Follower } from '../../helpers/follower.ts'
import { startFake, startGateway, startPatientGateway } from '../../helpers/gateway.ts'
import { type RunningService, send, startRegistry } from '../../helpers/registry.ts'
import { ALICE, mintKey, publish } from '../../helpers/seller.ts'
import { test } from './in-chromium.ts'

type InBrowser = ExecutionContext<{ browser: Browser }>

const ADMIN_KEY = 'operator-key-of-this-test'
const environment = { REGISTRY_ADMIN_API_KEY: ADMIN_KEY, REGISTRY_REQUIRE_READ_API_KEY: 'on' }

/** The page in a tab of its own. */
const openPage = (t: InBrowser, url: string): Promise<WatchedPage> =>
  openWatched(t, t.context.browser, `${url}/operator`, { permissions: ['clipboard-read', 'clipboard-write'] })

async function unlock(page: Page, key = ADMIN_KEY): Promise<void> {
  await page.getByLabel('Admin key').fill(key)
  await page.getByRole('button', { name: 'Apply' }).click()
}

async function open(t: InBrowser, url: string): Promise<WatchedPage> {
  const page = await openPage(t, url)
  await unlock(page)
  await page.getByRole('heading', { name: 'Replicas' }).waitFor()
  return page
}

const readsWith = async ({ get }: RunningService, key: string): Promise<number> =>
  (await get('/listings', { Authorization: `Bearer ${key}` })).status

test.serial('operator page: a key is minted, shown once, used, revoked and refused', async (t) => {
  const toml = '[[views]]\nname = "partners"\nfilter = { gpu_interconnect = "nvlink" }\n'
  const service = await startRegistry(t, { environment, toml })
  const page = await open(t, service.url)
  await page.getByLabel('Name', { exact: true }).fill('alice <b>')
  await page.getByLabel('Expires').selectOption('in 7 days')
  await page.getByLabel('View').fill('friends')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText(/The key could not be created: .*friends.*partners/).waitFor()
  await page.getByLabel('View').fill('partners')
  await page.getByLabel('Access').selectOption('metrics only')
  t.true(await page.getByLabel('View').isDisabled(), 'a role has no view')
  await page.getByLabel('Access').selectOption('read')
  await page.getByRole('button', { name: 'Create key' }).click()
  const raw = await page.getByLabel(/^The raw key/).inputValue()
  t.true(raw.length >= 32)
  t.is(await readsWith(service, raw), 200)
  await page.getByRole('button', { name: 'Copy key 1' }).click()
  await page.getByText('Copied').waitFor()
  t.is(await page.evaluate('navigator.clipboard.readText()'), raw)

  await page.getByRole('button', { name: /^Done/ }).click()
  await page.getByLabel(/^The raw key/).waitFor({ state: 'detached' })
  t.false(await holds(page, raw), 'the raw key is gone')
  // By the gateway's clock the key has not expired.
  await page.clock.setSystemTime(Date.now() + 30 * 86_400_000)
  await page.reload()
  await page.getByRole('heading', { name: 'Replicas' }).waitFor()
  const row = page.getByRole('region', { name: 'API keys' }).getByRole('row', { name: /alice <b>/ })
  await row.waitFor()
  t.is(await row.getByRole('cell', { name: 'partners', exact: true }).count(), 1)
  t.false(await holds(page, raw), 'the raw key does not come back')

  await row.getByRole('button', { name: /^Revoke key/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  t.is(await readsWith(service, raw), 200)
  await row.getByRole('button', { name: /^Revoke/ }).click()
  await dialog.getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('Revoked: key 1 (alice <b>).').waitFor()
  t.is(await readsWith(service, raw), 401)
  t.deepEqual(page.faults, [])
})

/** Whether the page, its fields, its address or the browser's storage hold a text. */
const holds = async (page: Page, text: string): Promise<boolean> =>
  ((await page.evaluate(HOLDINGS)) as string).includes(text)

/** Runs in the page. */
const HOLDINGS = `[
  document.documentElement.outerHTML,
  location.href,
  document.cookie,
  JSON.stringify(sessionStorage),
  JSON.stringify(localStorage),
  ...[...document.querySelectorAll('input')].map(({ value }) => value),
].join(' ')`

test.serial('operator page: keeps every new key until Done, and revokes several at once', async (t) => {
  const service = await startRegistry(t, { environment })
  const page = await open(t, service.url)
  const create = async (name: string) => {
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByRole('button', { name: 'Create key' }).click()
  }
  await create('   ')
  await page.getByText('Enter a name.').waitFor()
  const long = 'x'.repeat(128)
  for (const name of ['alice', 'bob']) await create(name)
  await page.getByLabel('Access').selectOption('metrics only')
  await create(long)
  const scraper = await page.getByLabel('The raw key 3').inputValue()
  const scraped = await service.get('/metrics', { Authorization: `Bearer ${scraper}` })
  t.deepEqual([scraped.status, await readsWith(service, scraper)], [200, 403])
  const raws = await Promise.all([1, 2].map((id) => page.getByLabel(`The raw key ${id}`).inputValue()))
  await page.getByLabel('Name', { exact: true }).fill('bob')
  await page.getByText('An active key has this name already.').waitFor()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Create key again makes a second one.').waitFor()
  t.is(await page.getByLabel('The raw key 4').count(), 0)
  await page.getByRole('button', { name: 'Done with key 1' }).click()
  await page.getByText('It was not copied.').waitFor()
  t.is(await page.getByLabel('The raw key 1').inputValue(), raws[0]!)
  await page.getByRole('button', { name: 'Done with key 1' }).click()
  await page.getByLabel('The raw key 1').waitFor({ state: 'detached' })
  t.is(await page.evaluate('document.activeElement.id'), 'keys-title')
  t.is(await page.getByLabel('The raw key 2').inputValue(), raws[1]!)
  const frame = page.getByLabel('Active keys, scrollable')
  t.is(await frame.evaluate((element) => element.scrollWidth - element.clientWidth), 0, 'a long name wraps')
  const size = page.viewportSize()!
  await page.setViewportSize({ width: 390, height: 844 })
  t.is(await page.evaluate('document.documentElement.scrollWidth'), 390)
  await shoot(page, 'operator-key-390')
  await page.setViewportSize(size)

  for (const name of ['alice', 'bob']) await page.getByLabel(new RegExp(`^Select key \\d, ${name}`)).check()
  await page.getByRole('button', { name: 'Revoke selected (2)' }).click()
  await page.getByRole('button', { name: 'Revoke keys' }).click()
  await page.getByText('Revoked: key 2 (bob), key 1 (alice).').waitFor()
  for (const raw of raws) t.is(await readsWith(service, raw), 401)
  await page.getByLabel('The raw key 2').waitFor({ state: 'detached' })
  t.is(await page.getByLabel('The raw key 3').count(), 1)
  t.deepEqual(page.faults, [])
})

test.serial('operator page: the focus stays where it is while keys are made and revoked', async (t) => {
  const { url } = await startRegistry(t, { environment })
  const page = await open(t, url)
  const name = page.getByLabel('Name', { exact: true })
  const create = page.getByRole('button', { name: 'Create key' })
  const row = (of: string) => page.getByRole('row', { name: new RegExp(of) })
  const focused = (button: Locator): Promise<void> => button.and(page.locator(':focus')).waitFor()
  for (const one of ['alice', 'carol', 'dave']) {
    await name.fill(one)
    await create.press('Enter')
    await row(one).waitFor()
  }
  t.is(await page.evaluate('document.activeElement.ariaLabel'), 'The raw key 3')
  await create.press('Enter')
  await page.getByText('Enter a name.').waitFor()
  await name.fill('eve')
  t.is(await page.getByText('Enter a name.').count(), 0)
  const busy = (route: Route) => route.fulfill({ status: 503, body: '{"detail":"busy"}' })
  await page.route('**/admin/api-keys', busy)
  await create.press('Enter')
  await page.getByText('The key could not be created: busy').waitFor()
  await focused(create)
  await page.unroute('**/admin/api-keys', busy)

  const revoke = row('alice').getByRole('button', { name: /^Revoke/ })
  await revoke.press('Enter')
  await page.getByRole('button', { name: 'Cancel' }).press('Enter')
  await focused(revoke)
  const held = Promise.withResolvers<void>()
  await page.route('**/admin/api-keys/*', async (route) => {
    await held.promise
    await route.continue()
  })
  await revoke.press('Enter')
  await page.getByRole('button', { name: 'Revoke key', exact: true }).press('Enter')
  await focused(revoke)
  await page.getByLabel(/^Select key 3/).check()
  await name.fill('bo')
  held.resolve()
  await page.getByText('Revoked: key 1 (alice).').waitFor()
  await page.getByText('1 revoked or expired').waitFor()
  await page.keyboard.type('b')
  t.is(await name.inputValue(), 'bob')
  await page.getByRole('button', { name: 'Revoke selected (1)' }).press('Enter')
  await page.getByRole('button', { name: 'Revoke key', exact: true }).press('Enter')
  await page.getByText('2 revoked or expired').waitFor()
  t.deepEqual(page.faults, [])
})

test.serial('operator page: keys are listed again each minute, and the latest list is shown', async (t) => {
  const { url } = await startRegistry(t, { environment })
  await send(`${url}/admin/api-keys`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ADMIN_KEY}`, 'Content-Type': 'application/json' },
    body: '{"name":"alice"}',
  })
  const page = await openPage(t, url)
  let minutes = 0
  await page.route('**/admin/replicas', async (route) => {
    const response = await route.fetch()
    const fleet = (await response.json()) as { at: string }
    const at = new Date(Date.parse(fleet.at) + minutes * 60_000).toISOString()
    await route.fulfill({ response, json: { ...fleet, at } })
  })
  let requests = 0
  const refused = (route: Route) => (++requests === 1 ? route.continue() : route.abort())
  await page.route('**/admin/api-keys', refused)
  await unlock(page)
  await page.getByText('The keys could not be listed').waitFor()
  t.is(await page.getByText('No active keys.').count(), 0)
  await page.unroute('**/admin/api-keys', refused)
  minutes = 2
  const row = page.getByRole('region', { name: 'API keys' }).getByRole('row', { name: /alice/ })
  await row.waitFor()

  const held = Promise.withResolvers<void>()
  const requested = Promise.withResolvers<void>()
  await page.route(
    '**/admin/api-keys',
    async (route) => {
      const response = await route.fetch()
      requested.resolve()
      await held.promise
      await route.fulfill({ response })
    },
    { times: 1 },
  )
  minutes = 4
  await requested.promise
  await row.getByRole('button', { name: /^Revoke/ }).click()
  await page.getByRole('button', { name: 'Revoke key', exact: true }).click()
  await page.getByText('No active keys.').waitFor()
  const late = page.waitForResponse('**/admin/api-keys')
  held.resolve()
  await late
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  t.is(await row.count(), 0)
})

test.serial('operator page: of two keys that are tried at once the latest one counts', async (t) => {
  const { url } = await startRegistry(t, { environment })
  const page = await openPage(t, url)
  const held = Promise.withResolvers<void>()
  await page.route(
    '**/admin/api-keys',
    async (route) => {
      await held.promise
      await route.continue()
    },
    { times: 1 },
  )
  await unlock(page)
  await unlock(page)
  await page.getByRole('button', { name: 'Remove key' }).click()
  const late = page.waitForResponse('**/admin/api-keys')
  held.resolve()
  await late
  await unlock(page, 'wrong')
  await page.getByText('Wrong admin key.').waitFor()
  t.is(await page.evaluate('sessionStorage.length'), 0)
})

test.serial('operator page: names a wrong key and closed admin routes', async (t) => {
  const service = await startRegistry(t, { environment })
  const page = await openPage(t, service.url)
  await unlock(page, 'wrong')
  await page.getByText('Wrong admin key.').waitFor()
  t.false(await holds(page, 'wrong'), 'the page drops a refused key')
  await unlock(page)
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
  t.is(await page.getByText('Invalid admin token').count(), 0)

  await page.getByText('This is a plain Registry: it has no upstreams.').waitFor()
  await page.getByRole('button', { name: 'Reload configuration' }).click()
  await page.getByText(/^Reloaded in \d+ ms: nothing has changed\.$/).waitFor()

  const closed = await startRegistry(t)
  const other = await openPage(t, closed.url)
  await other.getByText('set it and start again: nothing opens this page before.').waitFor()
  await unlock(other)
  await other.getByText(/REGISTRY_ADMIN_API_KEY not set/).waitFor()
})

test.serial('operator page: its key stays in the tab until it is forgotten', async (t) => {
  const service = await startRegistry(t, { environment })
  const page = await open(t, service.url)
  const other = await page.context().newPage()
  await other.goto(`${service.url}/operator`)
  await other.getByRole('button', { name: 'Apply' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
  t.false(page.url().includes(ADMIN_KEY))
  t.deepEqual(await page.evaluate('[document.cookie, localStorage.length]'), ['', 0])
  t.false((await page.content()).includes(ADMIN_KEY))

  await page.getByLabel('Name', { exact: true }).fill('bob')
  await page.getByRole('button', { name: 'Create key' }).click()
  const raw = await page.getByLabel(/^The raw key/).inputValue()
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })), null")
  t.false(await holds(page, raw), 'a page in the back-forward cache holds no raw key')
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })), null")
  await page.getByRole('region', { name: 'API keys' }).getByRole('row', { name: /bob/ }).waitFor()
  t.false(await holds(page, raw))

  await page.getByRole('button', { name: 'Remove key' }).click()
  await page.getByRole('button', { name: 'Apply' }).waitFor()
  t.is(await page.evaluate('document.activeElement.tagName'), 'MAIN')
  t.false(await holds(page, ADMIN_KEY))
  await page.reload()
  await page.getByRole('button', { name: 'Apply' }).waitFor()
})

test.serial('operator page: shows what is wrong first, in words, and acts on a source', async (t) => {
  const odd = listingText({ listing_id: 'odd', offer_resource: { gpu_model: 'Hopper big', region: 'MON1' } })
  const fake = await startFake(t, {
    items: [...listingTexts('a', 2), odd, listingText({ created_at: null })],
  })
  const [idle, first] = [await startFake(t), await startFake(t)]
  const slow = await startFake(t, { script: [{ kind: 'hang' }] })
  const gateway = await startGateway(
    t,
    [
      { name: 'well', url: fake.url },
      { name: 'gone', url: deadUrl() },
      ...Array.from({ length: 11 }, (_, n) => ({
        name: n === 0 ? 'hidden' : `idle-${n}`,
        url: [slow.url, first.url][n] ?? idle.url,
        settings: `visibility = "private"\n${n === 0 ? 'timeout_ms = 60000' : ''}`,
      })),
    ],
    { environment: { REGISTRY_ADMIN_API_KEY: ADMIN_KEY }, isLoaded: false },
  )
  for (let n = 0; n < 3; n++) await gateway.get('/listings')
  const page = await open(t, gateway.url)
  const sources = page.getByRole('region', { name: 'Sources' })
  await sources.getByText('12 of 14 OK · 1 down · 1 not loaded yet').waitFor()
  await sources.getByText(/^The best first, with priorities: local 0, /).waitFor()
  t.regex(await sources.getByRole('rowheader').first().innerText(), /^▸ gone/)
  const row = (name: string) => sources.getByRole('row', { name: new RegExp(`^${name} `) })
  await row('gone')
    .getByText(/refused the connection: connect ECONNREFUSED /)
    .waitFor()
  await row('well').getByText('1 of 4 received were invalid').waitFor()
  await row('well')
    .getByText(/^p50 \d+ ms, p95 \d+ ms$/)
    .waitFor()
  t.is(await row('hidden').locator('.tone').first().getAttribute('data-tone'), 'neutral')
  await page.getByLabel('Latest changes').getByText('gone: not loaded yet → unavailable').waitFor()

  t.is(await sources.getByRole('rowheader').count(), 12)
  await sources.getByRole('button', { name: 'Show all 14' }).click()
  t.is(await sources.getByRole('rowheader').count(), 14)
  await sources.getByRole('searchbox').fill('WEL')
  t.is(await sources.getByRole('rowheader').count(), 1)
  await sources.getByRole('searchbox').fill('')
  const before = fake.requests.length
  await row('well').getByRole('button', { name: 'Refresh' }).click()
  await sources.getByText(/^well: fetched \d+ listings in \d+ ms$/).waitFor()
  await eventually('asked', () => fake.requests.slice(before).some(({ path }) => path === '/listings'))
  await eventually('paused', async () => {
    await row('gone').getByRole('button', { name: 'Probe' }).click()
    await sources.getByText('gone: unavailable, it refused the connection').waitFor()
    return row('gone')
      .getByText(/^paused, retries in \d+ s$/)
      .count()
  })

  await first.close()
  const probe = row('idle-1').getByRole('button', { name: 'Probe' })
  await probe.press('Enter')
  await sources
    .getByRole('rowheader')
    .nth(1)
    .getByText(/^▸ idle-1/)
    .waitFor()
  await probe.and(page.locator(':focus')).waitFor()

  await row('gone').getByRole('button', { name: 'gone', exact: true }).click()
  await page.reload()
  await row('gone').getByRole('button', { name: 'gone', exact: true }).click()
  await sources.getByRole('img', { name: /^Calls per minute: highest [1-9]\d* at \d\d:\d\d/ }).waitFor()
  t.is(
    await sources
      .locator('dt', { hasText: /^timeout_ms$/ })
      .locator('+ dd')
      .innerText(),
    '2500',
  )
  t.true((await sources.getByRole('listitem').count()) >= 5, 'the last failures')

  const names = page.getByRole('region', { name: 'Names not recognised' })
  await names.getByRole('button', { name: 'Read the listings' }).click()
  await names.getByText(/^\d names in \d listings of the sources that answered$/).waitFor()
  await names.getByRole('row', { name: 'Hopper big gpu_model well 1' }).waitFor()
  await names.getByRole('row', { name: 'MON1 region well 1' }).waitFor()

  await page.route('**/admin/replicas', async (route) => {
    const response = await route.fetch()
    const fleet = (await response.json()) as FleetJson
    fleet.traffic.total.errors = 1
    fleet.replicas[0]!.inconsistencies = 1
    for (const source of fleet.sources)
      if (source.state === 'unavailable') source.replicas = { one: 'unavailable', other: 'loaded' }
    await route.fulfill({ response, json: fleet })
  })
  await sources.getByText(/ down at 1 of 2 replicas/).waitFor()
  await page.getByText(/^The index of \S+ is inconsistent: readers may see outdated copies/).waitFor()
  await page.getByText(/ requests? · 1 error( |$)/).waitFor()
  await page.unroute('**/admin/replicas')
  await page.route('**/admin/replicas', (route) => route.abort())
  await page.getByText(/^Connection lost: .* Data from \d\d:\d\d:\d\d\.$/).waitFor()
  t.is(await page.locator('.live.lost').count(), 1)
  await page.unroute('**/admin/replicas')
  await page.getByText('Connection lost').waitFor({ state: 'detached' })
  await page.route('**/admin/replicas', (route) => route.fulfill({ body: '<html>' }))
  await page.getByText('Connection lost: The answer cannot be read.').waitFor()
  await page.unroute('**/admin/replicas')
  await page.getByText('Connection lost').waitFor({ state: 'detached' })
  t.deepEqual(
    page.faults.filter((fault) => !fault.includes('ERR_FAILED')),
    [],
  )
})

test.serial(
  "the operator's day: a reported fraud is blocked from its sheet, vanishes, and the log says by whom",
  async (t) => {
    const publishers = [[7, `0x${'c'.repeat(40)}`]] as const
    const fake = await startFake(t, { items: listingTexts('eu', 2, { publisher_id: 7 }), publishers })
    const gateway = await startPatientGateway(t, [{ name: 'eu', url: fake.url }], {
      environment: { REGISTRY_ADMIN_API_KEY: ADMIN_KEY },
    })
    const { url, get } = gateway
    for (const id of ['fraud', 'fraud-2'])
      t.is((await publish(url, ALICE, { listing_id: id, offer_resource: { gpu_model: 'H200' } })).status, 201)
    const { key: annsKey, bearer: ann } = await mintKey(url, { name: 'ann', role: 'admin' }, ADMIN_KEY)
    const follower = new Follower(gateway)
    await follower.begin()
    const removed = () => follower.changes.filter(({ type }) => type === 'removed').length

    const page = await openPage(t, url)
    await unlock(page, annsKey)
    const blocks = page.getByRole('region', { name: 'Blocks' })
    await blocks.getByText('Nothing is blocked.').waitFor()
    await blocks.getByRole('link', { name: 'board' }).click()
    // The link that the buyer reported.
    await page.goto(`${url}/#listing=fraud&registry=local`)
    const sheet = page.getByRole('dialog')
    await sheet.getByRole('heading', { name: 'Operator' }).waitFor()
    await sheet.getByRole('button', { name: 'Block', exact: true }).click()
    await sheet.getByText('Enter a reason.').waitFor()
    t.deepEqual(await axeFindings(page), [])
    await sheet
      .getByLabel('What to block')
      .selectOption({ label: `every listing of ${ALICE.address.toLowerCase()}` })
    await sheet.getByLabel('Reason').fill('took the deposit, ticket 812')
    await sheet.getByRole('button', { name: 'Block', exact: true }).click()
    await sheet.waitFor({ state: 'detached' })

    const shown = async () =>
      ((await get('/listings')).json().items as { listing_id: string }[]).map(({ listing_id }) => listing_id)
    t.deepEqual((await shown()).sort(), ['eu-0000', 'eu-0001'])
    t.is((await get('/listings/fraud')).status, 404)
    await page.locator('#count').getByText('2 listings').waitFor()
    await eventually('removed for followers', async () => {
      await follower.catchUp()
      return removed() === 2
    })
    t.is((await publish(url, ALICE, { listing_id: 'again' })).status, 403)

    await page.goto(`${url}/operator`)
    const block = blocks.getByRole('row', { name: /took the deposit, ticket 812 ann/ })
    await block.waitFor()
    const audit = page.getByRole('region', { name: 'Audit log' })
    const act = (name: string) => audit.getByRole('row', { name: new RegExp(`^block\\.${name} .* ann `) })
    await act('add').getByText(ALICE.address.toLowerCase()).waitFor()
    await block.getByRole('button', { name: 'Undo block 1' }).click()
    await blocks.getByText('Block 1 is undone.').waitFor()
    await audit.getByRole('button', { name: 'Read again' }).click()
    await act('end').waitFor()
    t.is((await shown()).length, 4)
    t.is((await get('/admin/audit', ann)).text.includes(annsKey), false)
    t.deepEqual(page.faults, [])
  },
)

/** Elements beyond the right edge, except in a frame that scrolls. Runs in the page. */
const OVERFLOWING = `[...document.querySelectorAll('body *')]
  .filter((element) => element.getBoundingClientRect().right > innerWidth && element.closest('.frame') === null)
  .map((element) => element.outerHTML.slice(0, 100))`

test.serial('operator page: axe finds nothing, light and wide, dark and narrow', async (t) => {
  const gateway = await startGateway(t, [{ name: 'gone', url: deadUrl() }], { environment })
  const page = await openPage(t, gateway.url)
  await page.getByRole('button', { name: 'Apply' }).waitFor()
  t.deepEqual(await axeFindings(page), [])
  await unlock(page, 'wrong')
  await page.getByText('Wrong admin key.').waitFor()
  t.deepEqual(await axeFindings(page), [])
  await unlock(page)
  await page.getByLabel('Name', { exact: true }).fill('reader')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByLabel(/^The raw key/).waitFor()
  await page
    .getByRole('row', { name: /^gone / })
    .getByRole('button', { name: 'Probe' })
    .click()
  await page.getByText('gone: unavailable').waitFor()
  await page.getByRole('button', { name: 'gone', exact: true }).click()
  await page.getByRole('heading', { name: 'Last failures' }).waitFor()
  for (const [colorScheme, width] of LOOKS) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    t.deepEqual(await axeFindings(page), [], `${colorScheme} ${width}`)
    t.deepEqual(await page.evaluate(OVERFLOWING), [])
    t.is(await page.evaluate('document.documentElement.scrollWidth'), width)
    await shoot(page, `operator-${colorScheme}-${width}`)
  }
  await page.getByRole('button', { name: /^Revoke key/ }).click()
  await page.getByRole('dialog').waitFor()
  t.deepEqual(await axeFindings(page), [])
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})
