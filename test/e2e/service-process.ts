import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** `entrepot serve` as a process of its own, on a free port. */
export type ServiceProcess = {
  url: string
  /** Signals the process, which resolves with its exit code when it is gone; `null` where the signal ended it. */
  end: (signal: 'SIGTERM' | 'SIGKILL') => Promise<number | null>
}

const PROGRAM = fileURLToPath(new URL('../../src/bin.ts', import.meta.url))

/** Starts one and kills it after a while, however far it has come. */
export const killWhileStarting = async (
  storeUrl: string,
  environment: Record<string, string>,
  afterMs: number,
): Promise<void> => {
  const child = spawnService(storeUrl, environment)
  child.stderr?.resume()
  const gone = once(child, 'exit')
  const killing = setTimeout(() => child.kill('SIGKILL'), afterMs)
  await gone
  clearTimeout(killing)
}

/** Resolves when it listens, having loaded its store; rejects with what it said where it ends before. */
export const startProcess = async (
  storeUrl: string,
  environment: Record<string, string> = {},
): Promise<ServiceProcess> => {
  const child = spawnService(storeUrl, environment)
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const gone = once(child, 'exit').then(([code]) => {
    process.off('exit', kill)
    return code as number | null
  })
  return {
    url: await listening(child),
    end: (signal) => {
      child.kill(signal)
      return gone
    },
  }
}

const spawnService = (storeUrl: string, environment: Record<string, string>): ChildProcess =>
  spawn(process.execPath, [PROGRAM, 'serve'], {
    env: { ...process.env, PORT: '0', LOG_LEVEL: 'info', STORE_URL: storeUrl, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })

const listening = async (child: ChildProcess): Promise<string> => {
  const said: string[] = []
  const lines = createInterface(child.stderr!)
  for await (const line of lines) {
    const url = /"url":"(http:[^"]+)"/.exec(line)?.[1]
    if (url !== undefined) {
      child.stderr!.resume()
      return url
    }
    said.push(line)
  }
  throw new Error(`the service ended before it listened: ${said.join('\n')}`)
}
