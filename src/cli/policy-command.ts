import { spawn } from 'node:child_process'
import { safeText } from '../domain/safe-text.ts'
import { CliError, EXIT } from './exit.ts'
import type { RunPolicy } from './policy.ts'

/** Runs a shell command as a policy. Past its time, it and whatever it has started is killed. */
export const runCommand =
  (command: string): RunPolicy =>
  (array, { timeoutMs, maxBytes }, terminal) =>
    new Promise((resolve, reject) => {
      const isWindows = process.platform === 'win32'
      // A group of its own, so that a shell's children end with it.
      const child = spawn(command, { shell: true, detached: !isWindows, stdio: 'pipe' })
      const fail = (what: string): void => {
        kill(child.pid, isWindows)
        reject(new CliError(EXIT.failure, `policy '${command}' ${what}`))
      }
      const timer = setTimeout(() => fail(`took longer than ${timeoutMs} ms`), timeoutMs)
      const chunks: Buffer[] = []
      let size = 0
      child.stdout.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxBytes) fail(`printed more than ${maxBytes} bytes`)
        else chunks.push(chunk)
      })
      child.stderr.on('data', (chunk: Buffer) => terminal.stderr.write(shown(chunk)))
      child.on('error', (error) => fail(`could not be started: ${error.message}`))
      child.on('close', (code, signal) => {
        clearTimeout(timer)
        if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'))
        else fail(`ended with ${signal ?? `exit code ${code}`}`)
      })
      child.stdin.on('error', () => {}) // a policy may end without reading everything
      child.stdin.end(array)
    })

/** The policy is the user's own, but it may quote listings. */
const shown = (chunk: Buffer): string => chunk.toString('utf8').split('\n').map(safeText).join('\n')

const kill = (pid: number | undefined, isWindows: boolean): void => {
  if (pid === undefined) return
  try {
    process.kill(isWindows ? pid : -pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
