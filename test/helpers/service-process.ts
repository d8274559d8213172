import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** `entrepot serve` as a child process on a free port. */
export type ServiceProcess = {
  url: string
  pid: number
  /** `SIGHUP` reloads. */
  signal: (signal: 'SIGHUP') => void
  /** The next log lines with this message, or one of these. */
  logged: (messages: string | readonly string[], count?: number) => Promise<Record<string, unknown>[]>
  /** Signals the process. Resolves with its exit code; `null` if the signal ended it. */
  end: (signal: 'SIGTERM' | 'SIGKILL') => Promise<number | null>
}

const PROGRAM = fileURLToPath(new URL('../../src/bin.ts', import.meta.url))

/** Starts a process and kills it after `afterMs`, at any stage of its start. */
export async function killWhileStarting(
  storeUrl: string,
  environment: Record<string, string>,
  afterMs: number,
): Promise<void> {
  const child = spawnService(storeUrl, environment)
  child.stderr?.resume()
  const gone = once(child, 'exit')
  const killing = setTimeout(() => child.kill('SIGKILL'), afterMs)
  await gone
  clearTimeout(killing)
}

/** Resolves when it listens with its store loaded; rejects with its output if it ends before. */
export async function startProcess(
  storeUrl: string,
  environment: Record<string, string> = {},
  cwd?: string,
): Promise<ServiceProcess> {
  const child = spawnService(storeUrl, environment, cwd)
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const gone = once(child, 'exit').then(([code]) => {
    process.off('exit', kill)
    return code as number | null
  })
  const lines = createInterface(child.stderr!)
  const url = await listening(lines)
  return {
    url,
    pid: child.pid!,
    signal: (signal) => void child.kill(signal),
    logged: (messages, count = 1) => nextLines(lines, [messages].flat(), count),
    end: (signal) => {
      child.kill(signal)
      return gone
    },
  }
}

const spawnService = (storeUrl: string, environment: Record<string, string>, cwd?: string): ChildProcess =>
  spawn(process.execPath, [PROGRAM, 'serve'], {
    cwd,
    env: { ...process.env, PORT: '0', LOG_LEVEL: 'info', STORE_URL: storeUrl, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })

async function listening(lines: Interface): Promise<string> {
  const output: string[] = []
  lines.on('line', (line) => output.push(line))
  await Promise.race([nextLines(lines, ['listening'], 1), once(lines, 'close')])
  lines.removeAllListeners('line')
  lines.on('line', () => {}) // reads the rest, so that the pipe does not fill
  const { url } = JSON.parse(output.find((line) => line.includes('"listening"')) ?? '{}')
  if (url === undefined) throw new Error(`the service ended before it listened: ${output.join('\n')}`)
  return url
}

const nextLines = (
  lines: Interface,
  messages: readonly string[],
  count: number,
): Promise<Record<string, unknown>[]> =>
  new Promise((resolve) => {
    const found: Record<string, unknown>[] = []
    const look = (line: string): void => {
      if (!messages.some((message) => line.includes(JSON.stringify(message)))) return
      if (found.push(JSON.parse(line)) < count) return
      lines.off('line', look)
      resolve(found)
    }
    lines.on('line', look)
  })
