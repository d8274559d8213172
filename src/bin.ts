#!/usr/bin/env node
import nodeModule from 'node:module'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`entrepot needs Node.js 22.19 or newer; this is ${process.version}\n`)
  process.exit(1)
}

// Compiled code is cached only for modules imported after this call.
nodeModule.enableCompileCache()
const [{ createProgram }, { EXIT }, { environment }, { version }] = await Promise.all([
  import('./cli/program.ts'),
  import('./cli/exit-codes.ts'),
  import('./config/environment.ts'),
  import('./config/version.ts'),
])

// `entrepot listings | head` closes the pipe early, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  process.stderr.write(`entrepot: stdout cannot be written: ${error.message}\n`)
  process.exit(EXIT.outputError)
})

const program = await createProgram(
  { env: environment, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
  {
    openRegistryClient: async () => (await import('./context/buyer.ts')).openRegistryClient(),
    serveAgents: async (discovery, terminal, onError) =>
      (await import('./mcp/stdio.ts')).serveStdio(discovery, terminal, { version: version(), onError }),
    serve: async () => (await import('./service.ts')).serve(),
    checkStore: async (url) => (await import('./context/check-store.ts')).checkStore(url),
    setExitCode: (code) => {
      process.exitCode = code
    },
    version: version(),
  },
  process.argv.slice(2),
)
await program.parseAsync()
