import type { Browser } from 'playwright-core'
import { startDemoMarket } from '../demo/market.ts'
import { startChromium } from '../test/helpers/chromium.ts'
import type { Bench, TableRow } from './table.ts'

const PATHS = ['/', '/operator', '/docs']
const MAX_WARM_REQUESTS = 6

export const pages: Bench = {
  name: 'pages',
  what: 'requests and bytes from the network for a page of the demo: with an empty cache, and once more',
  run: async () => {
    const market = await startDemoMarket(0)
    const browser = await startChromium()
    try {
      const rows: TableRow[] = []
      for (const path of PATHS) rows.push(await measure(browser, market.gateway + path, path))
      return rows
    } finally {
      await browser.close()
      await market.close()
    }
  },
}

async function measure(browser: Browser, url: string, path: string): Promise<TableRow> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const cdp = await context.newCDPSession(page)
  await cdp.send('Network.enable')
  const fromCache = new Set<string>()
  let [requests, bytes] = [0, 0]
  cdp.on('Network.requestServedFromCache', ({ requestId }) => fromCache.add(requestId))
  cdp.on('Network.responseReceived', ({ requestId, response }) => {
    if (response.fromDiskCache) fromCache.add(requestId)
  })
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (fromCache.has(requestId)) return
    requests++
    bytes += encodedDataLength
  })
  const load = async (): Promise<[requests: number, bytes: number]> => {
    await page.goto('about:blank')
    ;[requests, bytes] = [0, 0]
    await page.goto(url, { waitUntil: 'networkidle' })
    return [requests, bytes]
  }
  const [cold, warm] = [await load(), await load()]
  await context.close()
  return {
    page: path,
    'cold requests': cold[0],
    'cold bytes': cold[1],
    'warm requests': warm[0],
    'warm bytes': warm[1],
    budget: `warm ≤ ${MAX_WARM_REQUESTS}`,
  }
}
