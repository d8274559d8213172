import { Command } from 'commander'
import { EntrepotError } from '../errors.ts'
import { addBuyerCommands } from './buyer-commands.ts'
import { withExample } from './commands/manual.ts'
import type { ServeAgents } from './commands/mcp.ts'
import { CliError, EXIT, type ExitCode } from './exit-codes.ts'
import { addOperatorCommands } from './operator-commands.ts'
import { addDiscovery, addRegistries } from './options.ts'
import { printStatus, type Terminal } from './output/terminal.ts'
import { addOwnCommands } from './own-commands.ts'
import type { RegistryClient } from './registries/registry-client.ts'
import type { RegistryOptions } from './registries/select-registries.ts'
import { addSellerCommands } from './seller-commands.ts'

type Services = {
  openRegistryClient: () => Promise<RegistryClient>
  serveAgents: ServeAgents
  serve: () => Promise<number>
  setExitCode: (code: number) => void
  version: string
}

/** Loads a command's code when it is called. */
type Runner = {
  terminal: Terminal
  guard: (work: () => Promise<number>) => Promise<void>
  onMarket: <Options>(
    run: (client: RegistryClient, options: Options, args: readonly string[]) => Promise<ExitCode>,
  ) => (...given: unknown[]) => Promise<void>
}

export type AddCommands = (program: Command, runner: Runner) => void

export function createProgram(terminal: Terminal, services: Services): Command {
  const program = new Command('entrepot')
    .description(
      'The federation gateway of an open compute market, with the tools of its buyers, sellers and operators',
    )
    .version(services.version)
    .option('--config <file>', 'read the buyer configuration from this file only')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help for what may be said)')
  const runner = createRunner(terminal, services)
  withExample(
    program.command('serve').description('run the gateway (what `npm start` runs)'),
    'PORT=8080 ENTREPOT_CONFIG=gateway.toml entrepot serve',
  ).action(() => runner.guard(services.serve))
  withExample(
    addDiscovery(addRegistries(program.command('mcp'))).description(
      'serve the selected Registries to an agent: MCP on stdin and stdout',
    ),
    'entrepot mcp -r https://registry.example',
  ).action(
    runner.onMarket(async (client, options: RegistryOptions) =>
      (await import('./commands/mcp.ts')).agents(terminal, client, options, services.serveAgents),
    ),
  )
  for (const add of [addBuyerCommands, addSellerCommands, addOperatorCommands, addOwnCommands])
    add(program, runner)
  return program
}

function createRunner(terminal: Terminal, services: Services): Runner {
  const guard = async (work: () => Promise<number>): Promise<void> => {
    try {
      services.setExitCode(await work())
    } catch (cause) {
      services.setExitCode(report(terminal, cause))
    }
  }
  return {
    terminal,
    guard,
    onMarket:
      <Options>(
        run: (client: RegistryClient, options: Options, args: readonly string[]) => Promise<ExitCode>,
      ) =>
      (...given) =>
        guard(async () => {
          // Commander passes the arguments, the options and, last, the command itself.
          const command = given.at(-1) as Command
          const client = await services.openRegistryClient()
          try {
            return await run(client, command.optsWithGlobals() as Options, command.args)
          } finally {
            await client.close()
          }
        }),
  }
}

function report(terminal: Terminal, cause: unknown): ExitCode {
  if (cause instanceof CliError || cause instanceof EntrepotError) {
    printStatus(terminal, `entrepot: ${cause.message}`)
    return cause instanceof CliError ? cause.exitCode : EXIT.failure
  }
  printStatus(terminal, `entrepot: unexpected: ${cause instanceof Error ? cause.message : String(cause)}`)
  return EXIT.failure
}
