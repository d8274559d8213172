import { type Browser, chromium } from 'playwright-core'
import { programPath } from './programs.ts'

/** A headless Chromium with a new profile: `CHROME_PATH`, or an installed one. */
export const startChromium = async (): Promise<Browser> =>
  chromium.launch({ executablePath: programPath('chromium'), headless: true, args: FLAGS })

/** No sandbox (the tests may run as root), and no background requests. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--renderer-process-limit=1',
  '--disable-site-isolation-trials',
  '--disable-features=SpareRendererForSitePerProcess',
]
