import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { ExecutionContext } from 'ava'
import { BIN } from '../helpers/run-cli.ts'

/** `entrepot serve` as a process of its own, every word of which is kept. */
export type HeardProcess = {
  url: string
  /** All of its stdout and stderr so far. */
  said: () => string
  /** Resolves when it has said so since this was called. */
  says: (words: RegExp) => Promise<void>
  signal: (signal: 'SIGHUP') => void
  /** Resolves with its exit code. */
  end: () => Promise<number | null>
}

/** Starts one with this environment and nothing else. */
export async function startHeard(
  t: ExecutionContext,
  environment: Record<string, string>,
): Promise<HeardProcess> {
  const { child, said } = spawnHeard(environment)
  t.teardown(() => child.kill('SIGKILL'))
  const gone = once(child, 'exit')
  const says = async (words: RegExp, from = said().length): Promise<void> => {
    while (!words.test(said().slice(from))) {
      if (child.exitCode !== null) throw new Error(`it ended: ${said()}`)
      await setTimeout(10)
    }
  }
  await says(/"listening"/, 0)
  return {
    url: /"url":"([^"]+)"/.exec(said())![1]!,
    said,
    says: (words) => says(words),
    signal: (signal) => void child.kill(signal),
    end: async () => {
      child.kill('SIGTERM')
      return (await gone)[0]
    },
  }
}

/** Starts one that will not come up; resolves with its exit code and all that it said. */
export async function failToStart(
  environment: Record<string, string>,
): Promise<{ code: number | null; said: string }> {
  const { child, said } = spawnHeard(environment)
  const [code] = await once(child, 'close')
  return { code, said: said() }
}

function spawnHeard(environment: Record<string, string>): { child: ChildProcess; said: () => string } {
  const child = spawn(process.execPath, [BIN, 'serve'], {
    env: { PATH: process.env.PATH!, PORT: '0', LOG_LEVEL: 'trace', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part) => {
      text += part
    })
  return { child, said: () => text }
}
