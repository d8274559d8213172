import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { CliError, EXIT } from './exit.ts'
import { policyEnvironment, type RunPolicy } from './policy-runner.ts'
import { showOutput } from './terminal.ts'

/** In a thread, so that an endless loop can be ended. */
export function runModule(file: string): RunPolicy {
  return (array, { timeoutMs, maxBytes }, terminal) =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL(`./policy-worker${extname(import.meta.filename)}`, import.meta.url), {
        workerData: { file, array },
        env: policyEnvironment(terminal),
        // stdout of this process is for listings.
        stdout: true,
        stderr: true,
      })
      showOutput(terminal, worker.stdout)
      showOutput(terminal, worker.stderr)
      const fail = (what: string): void => {
        void worker.terminate()
        reject(new CliError(EXIT.failure, `policy ${file} ${what}`))
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
        fail(`failed: ${error instanceof Error ? error.message : String(error)}`)
      })
      worker.on('exit', () => {
        clearTimeout(timer)
        fail('ended without a result')
      })
    })
}
