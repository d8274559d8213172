import { Command } from 'commander'
import {
  type CommandContext,
  type CommandDefinition,
  type CommandGroup,
  exampleOf,
  type Services,
} from './command.ts'
import { describeError, type ExitCode, exitCodeOfError } from './exit-codes.ts'
import { printStatus, type Terminal } from './output/terminal.ts'
import type { RegistryClient } from './registries/registry-client.ts'

type CommandEntry = {
  name: string
  summary: string
  load: () => Promise<CommandDefinition | CommandGroup>
}

/** In the order of the help. */
const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    summary: 'run the gateway, as `npm start` does',
    load: async () => (await import('./commands/serve.ts')).serveCommand,
  },
  {
    name: 'mcp',
    summary: 'serve the selected Registries to an agent, over MCP on stdin and stdout',
    load: async () => (await import('./commands/mcp.ts')).mcpCommand,
  },
  {
    name: 'listings',
    summary: 'query all selected Registries at once and print the merged listings',
    load: async () => (await import('./commands/listings.ts')).mergedListingsCommand,
  },
  {
    name: 'listing',
    summary: 'print one listing in full',
    load: async () => (await import('./commands/listing.ts')).fullListingCommand,
  },
  {
    name: 'facets',
    summary: 'count the listings per value, and print their prices per token',
    load: async () => (await import('./commands/facets.ts')).facetsCommand,
  },
  {
    name: 'filters',
    summary: 'print the filters of all selected Registries, with their kinds and allowed values',
    load: async () => (await import('./commands/filters.ts')).filtersCommand,
  },
  {
    name: 'review',
    summary: 'print the presentation record of a listing, built from its Registry and its storefront',
    load: async () => (await import('./commands/review.ts')).reviewCommand,
  },
  {
    name: 'publish',
    summary: 'publish the listings of a file to every selected Registry',
    load: async () => (await import('./commands/publish.ts')).publishCommand,
  },
  {
    name: 'update',
    summary: 'change the status or the oracle of a listing',
    load: async () => (await import('./commands/update.ts')).updateCommand,
  },
  {
    name: 'delete',
    summary: 'delete a listing permanently',
    load: async () => (await import('./commands/delete.ts')).deleteCommand,
  },
  {
    name: 'validate',
    summary: 'check the listings of a file against the listing shape of every selected Registry',
    load: async () => (await import('./commands/validate.ts')).validateCommand,
  },
  {
    name: 'sync',
    summary: 'publish the changed listings of a file, and close your listings that are not in it',
    load: async () => (await import('./commands/sync.ts')).syncCommand,
  },
  {
    name: 'mine',
    summary: 'print the listings of your wallet in every selected Registry, of any status',
    load: async () => (await import('./commands/mine.ts')).mineCommand,
  },
  {
    name: 'wallet',
    summary: 'create the wallet of a seller, or print its address',
    load: async () => (await import('./commands/wallet.ts')).walletCommand,
  },
  {
    name: 'keys',
    summary: 'manage the API keys of a Registry that you operate, with its REGISTRY_ADMIN_API_KEY',
    load: async () => (await import('./commands/keys.ts')).keysCommand,
  },
  {
    name: 'sources',
    summary: 'print the health of every source of a gateway',
    load: async () => (await import('./commands/sources.ts')).sourcesCommand,
  },
  {
    name: 'doctor',
    summary: "check a buyer's configuration and every Registry in it, and suggest fixes",
    load: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  {
    name: 'check',
    summary: 'check what `serve` would use: its files, secrets, store and upstreams; for operators',
    load: async () => (await import('./commands/check.ts')).checkCommand,
  },
  {
    name: 'backup',
    summary: 'save listings, publishers and API keys of the store of `serve`, while it runs or not',
    load: async () => (await import('./commands/backup.ts')).backupCommand,
  },
  {
    name: 'restore',
    summary: 'write a backup to the store of `serve`, which must not exist or be empty',
    load: async () => (await import('./commands/restore.ts')).restoreCommand,
  },
  {
    name: 'secret',
    summary: 'print 32 random bytes in hex, to use as a secret',
    load: async () => (await import('./commands/secret.ts')).secretCommand,
  },
  {
    name: 'init',
    summary:
      'write a commented gateway.toml, example.env, filter-spec.yaml and listing.example.yaml into an empty folder',
    load: async () => (await import('./commands/init.ts')).initCommand,
  },
  {
    name: 'completion',
    summary: 'print a completion script for a shell',
    load: async () => (await import('./commands/completion.ts')).completionCommand,
  },
  {
    name: 'manual',
    summary: 'print this manual as Markdown',
    load: async () => (await import('./commands/manual.ts')).manualCommand,
  },
]

/** @param words of the command line: commands not among them have no options yet; by default all have */
export async function createProgram(
  terminal: Terminal,
  services: Services,
  words?: readonly string[],
): Promise<Command> {
  const program = new Command('entrepot')
    .description(
      'The federation gateway of an open compute market, with the tools of its buyers, sellers and operators',
    )
    .version(services.version)
    .option('--config <file>', 'read the buyer configuration from this file only')
    .option('--quiet', 'print only errors and warnings on stderr')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'entrepot: ')),
    })
    .exitOverride()
    .showHelpAfterError("See 'entrepot --help'.")
  const run = createRunner(terminal, services)
  for (const { name, summary, load } of COMMANDS) {
    const command = program.command(name).description(summary)
    if (words === undefined || words.includes(name)) addDefinition(command, await load(), run)
  }
  return program
}

type RunCommand = (definition: CommandDefinition, command: Command) => Promise<void>

function addDefinition(
  command: Command,
  definition: CommandDefinition | CommandGroup,
  run: RunCommand,
): void {
  if ('subcommands' in definition) {
    for (const [name, { summary, ...subcommand }] of Object.entries(definition.subcommands))
      addDefinition(command.command(name).description(summary), subcommand, run)
    return
  }
  definition.define?.(command)
  exampleOf.set(command, definition.example)
  command
    .showHelpAfterError(`See '${pathOf(command)} --help'.`)
    .addHelpText('after', `\nExample:\n  ${definition.example}`)
    // Commander passes the arguments, the options and, last, the command itself.
    .action((...passed) => run(definition, passed.at(-1)))
}

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`

function createRunner(terminal: Terminal, services: Services): RunCommand {
  return async (definition, command) => {
    const clients: RegistryClient[] = []
    const options = command.optsWithGlobals()
    const context: CommandContext = {
      terminal: { ...terminal, isQuiet: options.quiet === true },
      services,
      loadProgram: () => createProgram(terminal, services),
      openClient: async () => {
        const client = await services.openRegistryClient()
        clients.push(client)
        return client
      },
    }
    try {
      services.setExitCode(await definition.run(context, options as never, command.args))
    } catch (cause) {
      services.setExitCode(reportError(terminal, cause))
    } finally {
      for (const client of clients) await client.close()
    }
  }
}

function reportError(terminal: Terminal, cause: unknown): ExitCode {
  for (const line of describeError(cause)) printStatus(terminal, `entrepot: ${line}`)
  return exitCodeOfError(cause)
}
