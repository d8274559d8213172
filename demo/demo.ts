import { ConfigError } from '../src/errors.ts'
import { KEYS, press } from './lesson.ts'
import { type DemoMarket, startDemoMarket } from './market.ts'
import { tour } from './tour.ts'

/** `npm run demo`: a market on loopback, with keys in a terminal. `--once` prints the gateway's merged answer and exits. */
async function main(): Promise<number> {
  try {
    const market = await startDemoMarket(Number(process.env.PORT || 8080))
    try {
      if (process.argv.includes('--once')) {
        const answer = await fetch(`${market.gateway}/listings`, {
          headers: { Authorization: `Bearer ${market.readerKey}` },
        })
        process.stdout.write(`${await answer.text()}\n`)
        return answer.ok ? 0 : 1
      }
      await untilStopped(market, await tour(market))
      return 0
    } finally {
      await market.close()
    }
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    const lines = cause.problems.map(({ message }) => message)
    process.stderr.write(
      `demo: ${lines.join('\n')} (the demo uses PORT and the next three ports, 8080 to 8083 by default: try PORT=9090 npm run demo)\n`,
    )
    return 78
  }
}

/** Prints the tour. Resolves at a signal, or at a key that ends the demo; keys are read only from a terminal. */
async function untilStopped(market: DemoMarket, text: string): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
    // A reader of it may stop the demo at once.
    process.stdout.write(text)
    if (process.stdin.isTTY) readKeys(market, resolve)
  })
  await stopped
  if (process.stdin.isTTY) process.stdin.setRawMode(false).pause()
}

function readKeys(market: DemoMarket, end: () => void): void {
  process.stdout.write(KEYS)
  let done: Promise<unknown> = Promise.resolve()
  process.stdin
    .setRawMode(true)
    .setEncoding('utf8')
    .on('data', (keys: string) => {
      for (const key of keys) {
        if (key === 'q' || key === END_OF_TEXT) return end()
        // One after the other.
        done = done.then(() => act(key, market))
      }
    })
}

async function act(key: string, market: DemoMarket): Promise<void> {
  const text = await press(key, market).catch((cause: unknown) => `${String(cause)}\n`)
  if (text !== null) process.stdout.write(`\n${text}`)
}

/** Ctrl-C, which is a character in raw mode. */
const END_OF_TEXT = '\u0003'

process.stdout.on('error', () => {}) // `| head` may close the pipe before the answer is written
process.exitCode = await main()
