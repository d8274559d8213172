import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { collectGarbage } from '../test/helpers/collect-garbage.ts'
import { startRegistry } from '../test/helpers/registry.ts'
import { ALICE, publish, update } from '../test/helpers/seller.ts'
import { startChild } from './children.ts'

const WATCHERS = 1000
/** Before the first measurement: code is compiled, and buffers have their size. */
const WARM_UP_SECONDS = 30
const PRINT_EVERY_SECONDS = 60
/** Of the heap from the first measurement to the last: retained changes, not noise. */
const MAX_GROWTH_MB = 5
const MIB = 1024 * 1024
const LISTING = {
  listing_id: 'a',
  offer_resource: { gpu_model: 'H200', gpu_count: 8, region: 'Frankfurt, DE' },
  storefront_url: 'https://alice.example',
}
const TOML =
  '[registry]\nlisting_shape = "off"\n[limits]\npublish_per_minute = 0\n' +
  `[changes]\nmax_watchers = ${WATCHERS}\nmax_watchers_per_reader = ${WATCHERS}\n`

type Sent = { fewest: number; most: number; bytes: number; ended: number }

/**
 * Follows a Registry by 1,000 streams while it has a change a second. Exits with 1 if memory grows, a stream ends, or one misses
 * a change.
 */
export async function soakWatchers(minutes: number): Promise<void> {
  const closers: (() => unknown)[] = []
  const owner = { teardown: (close: () => unknown) => void closers.unshift(close) }
  const service = await startRegistry(owner, { toml: TOML, environment: { METRICS_PUBLIC: 'true' } })
  try {
    await publish(service.url, ALICE, LISTING)
    const script = fileURLToPath(new URL('./watching.ts', import.meta.url))
    const watching = await startChild([script, service.url, String(WATCHERS)])
    owner.teardown(() => watching.close())
    const sent = async (): Promise<Sent> => (await (await fetch(watching.url)).json()) as Sent
    let changes = 0
    const changeFor = async (seconds: number): Promise<void> => {
      for (let n = 0; n < seconds; n++) {
        const fields = { offer_resource: { ...LISTING.offer_resource, gpu_count: 1 + (++changes % 8) } }
        await update(service.url, 'a', fields)
        await delay(1000)
      }
    }
    await changeFor(WARM_UP_SECONDS)
    const first = measure('begin')
    let last = first
    for (let left = minutes * 60; left > 0; left -= PRINT_EVERY_SECONDS) {
      await changeFor(Math.min(left, PRINT_EVERY_SECONDS))
      last = measure(`${changes} changes`)
    }
    const { fewest, most, ended } = await sent()
    process.stdout.write(
      `each stream was sent ${fewest} to ${most} of ${changes} changes, ${ended} have ended\n`,
    )
    if (fewest < changes || ended > 0 || last - first > MAX_GROWTH_MB) process.exitCode = 1
  } finally {
    for (const close of closers) await close()
  }
}

/** @returns heap and external memory in MiB */
function measure(when: string): number {
  collectGarbage()
  collectGarbage()
  const { heapUsed, external, rss } = process.memoryUsage()
  const used = (heapUsed + external) / MIB
  process.stdout.write(
    `${when}: heap and external ${used.toFixed(1)} MiB, resident ${(rss / MIB).toFixed(0)} MiB\n`,
  )
  return used
}
