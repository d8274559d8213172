import test from 'ava'
import { systemClock } from '../../src/domain/clock.ts'

const BEYOND_A_TIMER = 2 ** 31

test('clock: a wait of more than 24.8 days does not end at once and raises no warning', async (t) => {
  const ended: string[] = []
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  t.teardown(systemClock.after(BEYOND_A_TIMER, () => ended.push('long')))
  await new Promise((resolve) => setTimeout(resolve, 5))
  t.deepEqual(ended, [])
  t.deepEqual(warnings, [])
})
