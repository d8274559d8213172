#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'

// Compiled code is kept between runs; only what is imported after this call profits. Absent before Node 22.1.
nodeModule.enableCompileCache?.()
const [{ createProgram }, { environment }] = await Promise.all([
  import('./cli/program.ts'),
  import('./config/environment.ts'),
])

// `entrepot listings | head`: the reader has enough, which is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

await createProgram(
  { env: environment, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
  {
    openMarket: async () => (await import('./buyer-context.ts')).openMarket(),
    serve: async () => (await import('./main.ts')).serve(),
    setExitCode: (code) => {
      process.exitCode = code
    },
    version,
  },
).parseAsync()
