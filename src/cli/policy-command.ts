import { spawn } from 'node:child_process'
import { CliError, EXIT } from './exit.ts'
import { policyEnvironment, type RunPolicy } from './policy-runner.ts'
import { showOutput } from './terminal.ts'

/** What a policy has started may hold its stdout open for so long after the policy has ended. */
const LINGER_MS = 500

/** Runs a shell command as a policy. When its time is over, it and the processes that it has started are killed. */
export function runCommand(command: string): RunPolicy {
  return (array, { timeoutMs, maxBytes }, terminal) =>
    new Promise((resolve, reject) => {
      const isWindows = process.platform === 'win32'
      const child = spawn(command, {
        shell: true,
        // A process group of its own, so that the children of the shell can be killed with it.
        detached: !isWindows,
        stdio: 'pipe',
        env: policyEnvironment(terminal),
      })
      const fail = (what: string): void => {
        kill(child.pid, isWindows)
        reject(new CliError(EXIT.failure, `policy '${command}' ${what}`))
      }
      const timer = setTimeout(() => fail(`took longer than ${timeoutMs} ms`), timeoutMs)
      let linger: NodeJS.Timeout | undefined
      const chunks: Buffer[] = []
      let size = 0
      child.stdout.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxBytes) fail(`printed more than ${maxBytes} bytes`)
        else chunks.push(chunk)
      })
      showOutput(terminal, child.stderr)
      child.on('error', (error) => fail(`could not be started: ${error.message}`))
      child.on('exit', () => {
        linger = setTimeout(() => kill(child.pid, isWindows), LINGER_MS)
      })
      child.on('close', (code, signal) => {
        clearTimeout(timer)
        clearTimeout(linger)
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
    // It has ended by itself.
  }
}
