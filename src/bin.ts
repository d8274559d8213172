#!/usr/bin/env node
import nodeModule from 'node:module'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`entrepot needs Node.js 22.19 or newer; this is ${process.version}\n`)
  process.exit(1)
}

// Compiled code is cached only for modules imported after this call.
nodeModule.enableCompileCache()
const [{ runCommandLine }, { EXIT }, { environment }] = await Promise.all([
  import('./command-line.ts'),
  import('./cli/exit-codes.ts'),
  import('./config/settings.ts'),
])

// `entrepot listings | head` closes the pipe early, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  process.stderr.write(`entrepot: stdout cannot be written: ${error.message}\n`)
  process.exit(EXIT.outputError)
})

const { stdin, stdout, stderr } = process
process.exitCode = await runCommandLine({ env: environment, stdin, stdout, stderr }, process.argv.slice(2))
