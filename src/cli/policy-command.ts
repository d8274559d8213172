import { spawn } from 'node:child_process'
import { CliError, EXIT } from './exit.ts'
import { policyEnvironment, type RunPolicy } from './policy-runner.ts'
import { showOutput } from './terminal.ts'

/** For children of a policy that keep its stdout open. */
const LINGER_MS = 500

export function runCommand(command: string): RunPolicy {
  return (array, { timeoutMs, maxBytes }, terminal) =>
    new Promise((resolve, reject) => {
      const isWindows = process.platform === 'win32'
      const child = spawn(command, {
        shell: true,
        // A process group, so that the shell's children can be killed.
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
    // already ended
  }
}
