import { readFileSync } from 'node:fs'
import type { ExecutionContext } from 'ava'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

/** A page that records its faults. */
export type WatchedPage = Page & {
  /** Script errors, dialogs, blocked loads and requests to other hosts. */
  faults: string[]
  /** Cumulative layout shift since the page was loaded. */
  layoutShift: () => Promise<number>
}

/** Generous, because other tests share the machine. */
const TIMEOUT_MS = 60_000

/** Runs in the page before its own scripts. */
const WATCH = `
  addEventListener('securitypolicyviolation', (event) =>
    console.error('policy violation: ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample))
  window.layoutShift = 0
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) layoutShift += value
  }).observe({ type: 'layout-shift', buffered: true })
`

type PageOptions = Omit<BrowserContextOptions, 'viewport' | 'colorScheme'> & {
  viewport?: { width: number; height: number }
  colorScheme?: 'light' | 'dark'
  prepare?: (page: Page) => Promise<unknown>
}

const contexts = new WeakMap<Browser, Map<string, Promise<BrowserContext>>>()

/** One context for all pages of the same options, so that a test starts no process of the browser. */
function contextOf(browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  const ofBrowser = contexts.get(browser) ?? new Map<string, Promise<BrowserContext>>()
  contexts.set(browser, ofBrowser)
  const key = JSON.stringify(options)
  const context = ofBrowser.get(key) ?? browser.newContext(options)
  ofBrowser.set(key, context)
  return context.then((opened) => {
    opened.setDefaultTimeout(TIMEOUT_MS)
    return opened
  })
}

/** Closes all pages but one, which is left empty: the browser keeps its process for the next test. */
async function leaveEmpty(context: BrowserContext, page: Page): Promise<void> {
  if (page.isClosed()) return
  // A route may be waiting for an answer, which the end of the page takes away.
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.evaluate("location.replace('about:blank')")
  for (const other of context.pages()) if (other !== page) await other.close()
}

/** A status that the page handles; the browser logs it all the same. */
const HANDLED = /^Failed to load resource: the server responded with a status of/

/** Opens an address in a new page. Pages of one browser share its cache; what they store is of their servers' ports. */
export async function openWatched(
  t: ExecutionContext,
  browser: Browser,
  url: string,
  { prepare, viewport = { width: 1280, height: 900 }, colorScheme = 'light', ...options }: PageOptions = {},
): Promise<WatchedPage> {
  const context = await contextOf(browser, options)
  const page = await context.newPage()
  await page.setViewportSize(viewport)
  await page.emulateMedia({ colorScheme })
  t.teardown(() => leaveEmpty(context, page))
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`error: ${error.stack ?? error.message}`))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (message.type() === 'error' && !HANDLED.test(message.text())) faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith('data:'))
      faults.push(`request: ${request.url()}`)
  })
  await page.addInitScript(WATCH)
  await prepare?.(page)
  await page.goto(url)
  const layoutShift = (): Promise<number> => page.evaluate('layoutShift')
  return Object.assign(page, { faults, layoutShift })
}

/** A screenshot in `test/artifacts/`, which git ignores. */
export const shoot = (page: Page, name: string): Promise<unknown> =>
  page.screenshot({ path: `test/artifacts/${name}.png` })

/** Each scheme and each width once: axe takes long, and the other two pairs have neither other colours nor other sizes. */
export const LOOKS = [
  ['light', 1440],
  ['dark', 390],
] as const

const AXE = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

const AXE_OPTIONS = {
  resultTypes: ['violations'],
  runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] },
}

/** All findings of axe-core under WCAG 2.2 AA and its best practices, as text. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(AXE_OPTIONS)})`)) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[]
  }
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}
