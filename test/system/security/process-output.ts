import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ExecutionContext } from 'ava'
import pLimit from 'p-limit'
import { eventually } from '../../helpers/eventually.ts'
import { BIN } from '../../helpers/run-cli.ts'

/** `entrepot serve` as a process whose output is captured. */
export type CapturedProcess = {
  url: string
  /** All of its stdout and stderr so far. */
  output: () => string
  /** Resolves when output after this call matches. */
  waitForOutput: (words: RegExp) => Promise<void>
  signal: (signal: 'SIGHUP') => void
  /** Resolves with its exit code. */
  end: () => Promise<number | null>
}

/** Starts a process with only this environment. */
export async function startCaptured(
  t: ExecutionContext,
  environment: Record<string, string>,
): Promise<CapturedProcess> {
  const child = spawn(process.execPath, [BIN, 'serve'], {
    env: { PATH: process.env.PATH!, PORT: '0', LOG_LEVEL: 'trace', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part) => {
      text += part
    })
  const output = (): string => text
  t.teardown(() => child.kill('SIGKILL'))
  const gone = once(child, 'exit')
  const waitForOutput = async (words: RegExp, from = output().length): Promise<void> => {
    const look = (): string => {
      if (child.exitCode !== null) throw new Error(`it ended: ${output()}`)
      return output().slice(from)
    }
    await eventually(`with ${words}`, look, (text) => words.test(text))
  }
  await waitForOutput(/"listening"/, 0)
  return {
    url: /"url":"([^"]+)"/.exec(output())![1]!,
    output,
    waitForOutput: (words) => waitForOutput(words),
    signal: (signal) => void child.kill(signal),
    end: async () => {
      child.kill('SIGTERM')
      return (await gone)[0]
    },
  }
}

/** Two at once, since processes start slowly. */
export const inPairs = <T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<unknown> =>
  pLimit(2).map(all, work)
