#!/usr/bin/env node
import nodeModule from 'node:module'
import { setFlagsFromString } from 'node:v8'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`entrepot needs Node.js 22.19 or newer; this is ${process.version}\n`)
  process.exit(1)
}

if (process.argv[2] === 'serve') {
  void import('./stop-signal.ts').then(({ stopSignal }) => stopSignal())
  // What the response cache keeps of its first answers lets V8 take the objects of all later ones for long-lived: they would be
  // allocated where only a full collection frees them, for a third more time of each answer (`npm run bench -- cold`).
  setFlagsFromString('--no-allocation-site-pretenuring')
  // From the first large block that is freed on, glibc keeps what is freed at the end of its heap (mallopt(3), M_MMAP_THRESHOLD).
  // Before, the memory of each answer went back to the system, and came again page by page.
  new ArrayBuffer(31 * 1024 * 1024).transfer(0)
}

// Compiled code is cached only for modules imported after this call.
nodeModule.enableCompileCache()
const [{ runCommandLine }, { EXIT }, { environment }] = await Promise.all([
  import('./command-line.ts'),
  import('./cli/exit-codes.ts'),
  import('./config/settings.ts'),
])

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `print` and the agents' tools handle a reader that has gone.
  if (error.code === 'EPIPE') return
  process.stderr.write(`entrepot: stdout cannot be written: ${error.message}\n`)
  process.exit(EXIT.outputError)
})

// A report without a reader does not end the command.
process.stderr.on('error', () => {})

const { stdin, stdout, stderr } = process
process.exitCode = await runCommandLine({ env: environment, stdin, stdout, stderr }, process.argv.slice(2))
