#!/usr/bin/env node
import { Command } from 'commander'

const program = new Command('entrepot').description('The federation gateway of an open compute market')

program
  .command('serve')
  .description('run the gateway (what `npm start` runs)')
  .action(async () => {
    const { serve } = await import('./main.ts')
    process.exitCode = await serve()
  })

await program.parseAsync()
