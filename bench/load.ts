import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import autocannon from 'autocannon'

const run = promisify(execFile)

export type Load = { seconds: number; connections: number; headers?: Record<string, string> }

/** Requests a second of a URL, by wrk if it is installed, else by autocannon. */
export async function requestsPerSecond(url: string, load: Load): Promise<number> {
  const { seconds, connections, headers = {} } = load
  const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  try {
    const { stdout } = await run('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, ...lines, url])
    const failed = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)
    if (failed !== null) throw new Error(`${url} failed ${failed[1]} requests`)
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)![1])
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    const result = await autocannon({ url, connections, duration: seconds, headers })
    if (result.non2xx > 0) throw new Error(`${url} failed ${result.non2xx} requests`)
    return result.requests.average
  }
}

/**
 * Compares two URLs under load, alternating because machines are noisy, after a warm-up round.
 * @returns the medians and their ratio
 */
export async function compare(
  ours: { url: string; headers?: Record<string, string> },
  plain: { url: string },
  { seconds = 3, connections = 32, rounds = 3 } = {},
): Promise<{ ours: number; plain: number; ratio: number }> {
  const rates = { ours: [] as number[], plain: [] as number[] }
  for (let round = -1; round < rounds; round++) {
    if (round === 0) for (const all of Object.values(rates)) all.length = 0
    rates.plain.push(await requestsPerSecond(plain.url, { seconds, connections }))
    rates.ours.push(await requestsPerSecond(ours.url, { seconds, connections, headers: ours.headers ?? {} }))
  }
  const median = { ours: middle(rates.ours), plain: middle(rates.plain) }
  return { ...median, ratio: median.ours / median.plain }
}

const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
