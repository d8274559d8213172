import { ConfigError } from '../src/errors.ts'
import { startDemoMarket } from './market.ts'
import { tour } from './tour.ts'

/** `npm run demo`: a market on loopback. With `--once` it prints the gateway's merged answer and exits. */
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
      process.stdout.write(await tour(market))
      await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
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

process.stdout.on('error', () => {}) // `| head` may close the pipe before the answer is written
process.exitCode = await main()
