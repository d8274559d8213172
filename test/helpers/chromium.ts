import { type Browser, chromium } from 'playwright-core'
import { installedProgram } from './debian.ts'

/** A headless Chromium with a new profile: `CHROME_PATH`, or an installed one. */
export async function startChromium(): Promise<Browser> {
  const given = process.env.CHROME_PATH
  const executablePath = given === undefined || given === '' ? await installedProgram(PROGRAM) : given
  return chromium.launch({ executablePath, headless: true, args: FLAGS })
}

const PROGRAM = {
  missing: 'No Chromium',
  names: ['chromium', 'chromium-browser', 'google-chrome'],
  package: 'chromium',
  otherwise: 'set CHROME_PATH',
}

/** No sandbox (the tests may run as root), and no background requests. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
