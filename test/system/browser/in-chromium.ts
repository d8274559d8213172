import anyTest, { type TestFn } from 'ava'
import type { Browser } from 'playwright-core'
import { startChromium } from '../../helpers/chromium.ts'

/** Tests one after the other in one Chromium. */
export const test = anyTest as TestFn<{ browser: Browser }>

test.before(async (t) => {
  t.context.browser = await startChromium()
})

test.after.always((t) => t.context.browser?.close())
