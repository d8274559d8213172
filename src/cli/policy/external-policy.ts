import { spawn, spawnSync } from 'node:child_process'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { childEnvironment } from '../child-environment.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { forwardOutput, type Terminal } from '../output/terminal.ts'

/** For children of a policy that keep its stdout open. */
const LINGER_MS = 500
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export function runPolicyCommand(command: string): RunPolicy {
  return (array, { timeoutMs, maxBytes }, terminal) =>
    new Promise((resolve, reject) => {
      const isWindows = process.platform === 'win32'
      const child = spawn(command, {
        shell: true,
        // A process group, so that the shell's children can be killed.
        detached: !isWindows,
        stdio: 'pipe',
        env: childEnvironment(terminal),
      })
      const fail = (what: string): void => {
        kill(child.pid, isWindows)
        reject(new CliError(EXIT.failure, `policy '${command}' ${what}`))
      }
      const timer = setTimeout(() => fail(`took longer than ${timeoutMs} ms`), timeoutMs)
      // A terminal interrupts the group of this process only.
      const onSignal = (signal: NodeJS.Signals): void => {
        kill(child.pid, isWindows)
        process.kill(process.pid, signal)
      }
      for (const signal of ENDING) process.once(signal, onSignal)
      let linger: NodeJS.Timeout | undefined
      const chunks: Buffer[] = []
      let size = 0
      child.stdout.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxBytes) fail(`printed more than ${maxBytes} bytes`)
        else chunks.push(chunk)
      })
      forwardOutput(terminal, child.stderr)
      child.on('error', (error) => fail(`could not be started: ${error.message}`))
      child.on('exit', () => {
        linger = setTimeout(() => kill(child.pid, isWindows), LINGER_MS)
      })
      child.on('close', (code, signal) => {
        clearTimeout(timer)
        clearTimeout(linger)
        for (const signal of ENDING) process.off(signal, onSignal)
        if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'))
        else fail(`ended with ${signal ?? `exit code ${code}`}`)
      })
      child.stdin.on('error', () => {}) // a policy may end without reading everything
      child.stdin.end(array)
    })
}

function kill(pid: number | undefined, isWindows: boolean): void {
  if (pid === undefined) return
  try {
    process.kill(isWindows ? pid : -pid, 'SIGKILL')
  } catch {
    // already ended
  }
}

/** In a thread, so that an endless loop can be ended. */
export function runPolicyModule(file: string): RunPolicy {
  return (array, { timeoutMs, maxBytes }, terminal) =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL(`./policy-worker${extname(import.meta.filename)}`, import.meta.url), {
        workerData: { file, array },
        env: childEnvironment(terminal),
        // stdout of this process is for listings.
        stdout: true,
        stderr: true,
      })
      forwardOutput(terminal, worker.stdout)
      forwardOutput(terminal, worker.stderr)
      const fail = (what: string, line = ''): void => {
        void worker.terminate()
        reject(new CliError(EXIT.failure, `policy ${file}${line} ${what}`))
      }
      const timer = setTimeout(() => fail(`took longer than ${timeoutMs} ms`), timeoutMs)
      worker.on('message', (result: string) => {
        clearTimeout(timer)
        if (result.length > maxBytes) fail(`returned more than ${maxBytes} bytes`)
        else resolve(result)
        void worker.terminate()
      })
      worker.on('error', (error) => {
        clearTimeout(timer)
        const [place, message] = error instanceof Error ? [lineOf(error, file), error.message] : ['', error]
        fail(`failed: ${message}`, place)
      })
      worker.on('exit', () => {
        clearTimeout(timer)
        fail('ended without a result')
      })
    })
}

/** `:LINE` of the file, where Node names it: for a syntax error of JavaScript only in what it prints. */
function lineOf({ name, stack = '' }: Error, file: string): string {
  const isLost = name === 'SyntaxError' && !stack.includes(`${file}:`)
  const trace = isLost ? spawnSync(process.execPath, ['--check', file]).stderr.toString() : stack
  return /^\d+/.exec(trace.split(`${file}:`)[1] ?? '')?.[0].replace(/^/, ':') ?? ''
}

/** From JSON array to JSON array. */
export type RunPolicy = (
  array: string,
  limits: { timeoutMs: number; maxBytes: number },
  terminal: Terminal,
) => Promise<string>
