import { CommanderError } from 'commander'
import type { Services } from './cli/command.ts'
import type { Terminal } from './cli/output/terminal.ts'
import { createProgram } from './cli/program.ts'
import { version } from './config/shipped-files.ts'
import type { Around } from './context/buyer.ts'
import { SEES_ALL } from './domain/reader.ts'

/** Runs one command of `entrepot`; its further modules are loaded when it needs them. Gives the exit code. */
export async function runCommandLine(
  terminal: Terminal,
  args: readonly string[],
  around: Pick<Around, 'interceptors'> = {},
): Promise<number> {
  let exitCode = 0
  const services: Services = {
    openRegistryClient: async (options) =>
      (await import('./context/buyer.ts')).openRegistryClient({ ...options, ...around }),
    serveAgents: async (market, agents, onError) =>
      (await import('./mcp/stdio.ts')).serveStdio(market, agents, {
        reader: SEES_ALL,
        version: version(),
        onError,
      }),
    serve: async () => (await import('./service.ts')).serve(),
    checkStore: async (url) => (await import('./context/store-commands.ts')).checkStore(url),
    mintKey: async (url, key) => (await import('./context/store-commands.ts')).mintKey(url, key),
    backupStore: async (url, file) => (await import('./context/store-commands.ts')).backupStore(url, file),
    restoreStore: async (file, url) => (await import('./context/store-commands.ts')).restoreStore(file, url),
    setExitCode: (code) => {
      exitCode = code
    },
    version: version(),
  }
  const program = await createProgram(terminal, services, args)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (cause) {
    // Commander has printed help or the usage error.
    if (cause instanceof CommanderError) return cause.exitCode
    throw cause
  }
  return exitCode
}
