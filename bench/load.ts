import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import autocannon from 'autocannon'

const run = promisify(execFile)

export type Load = { seconds: number; connections: number; headers?: Record<string, string> }

/** Requests a second that a URL takes, by wrk where Debian's package is installed, else by autocannon. */
export async function requestsPerSecond(url: string, load: Load): Promise<number> {
  const { seconds, connections, headers = {} } = load
  const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  try {
    const { stdout } = await run('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, ...lines, url])
    const refused = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)
    if (refused !== null) throw new Error(`${url} refused ${refused[1]} requests`)
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)![1])
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    const result = await autocannon({ url, connections, duration: seconds, headers })
    if (result.non2xx > 0) throw new Error(`${url} refused ${result.non2xx} requests`)
    return result.requests.average
  }
}

/**
 * How two URLs compare: loaded in turns, since these machines are shared and noisy, after a round to warm both up.
 * @returns the medians, and their ratio
 */
export async function compare(
  ours: { url: string; headers?: Record<string, string> },
  plain: { url: string },
  { seconds = 3, connections = 32, rounds = 3 } = {},
): Promise<{ ours: number; plain: number; ratio: number }> {
  const taken = { ours: [] as number[], plain: [] as number[] }
  for (let round = -1; round < rounds; round++) {
    if (round === 0) for (const all of Object.values(taken)) all.length = 0
    taken.plain.push(await requestsPerSecond(plain.url, { seconds, connections }))
    taken.ours.push(await requestsPerSecond(ours.url, { seconds, connections, headers: ours.headers ?? {} }))
  }
  const median = { ours: middle(taken.ours), plain: middle(taken.plain) }
  return { ...median, ratio: median.ours / median.plain }
}

const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
