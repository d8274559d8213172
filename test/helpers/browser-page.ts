import { readFileSync } from 'node:fs'
import type { ExecutionContext } from 'ava'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

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

/** A status that the page handles; the browser logs it all the same. */
const HANDLED = /^Failed to load resource: the server responded with a status of/

/** Opens an address in a new browser context, closed when the test ends. */
export async function openWatched(
  t: ExecutionContext,
  browser: Browser,
  url: string,
  { prepare, ...options }: BrowserContextOptions & { prepare?: (page: Page) => Promise<unknown> } = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  context.setDefaultTimeout(TIMEOUT_MS)
  const page = await context.newPage()
  t.teardown(async () => {
    // A route may be waiting for an answer, which the end of the page takes away.
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await context.close()
  })
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
