import { Command } from 'commander'
import type { CommandContext, CommandDefinition, CommandGroup, Services } from './command.ts'
import { describeError, type ExitCode, exitCodeOfError } from './exit-codes.ts'
import { printStatus, type Terminal } from './output/terminal.ts'
import type { RegistryClient } from './registries/registry-client.ts'

type LoadCommand = () => Promise<CommandDefinition | CommandGroup>

/** By who runs them, in the order of the help. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, LoadCommand>>>> = {
  'Buyers:': {
    listings: async () => (await import('./commands/listings.ts')).listingsCommand,
    watch: async () => (await import('./commands/watch.ts')).watchCommand,
    listing: async () => (await import('./commands/listing.ts')).listingCommand,
    facets: async () => (await import('./commands/facets.ts')).facetsCommand,
    filters: async () => (await import('./commands/filters.ts')).filtersCommand,
    review: async () => (await import('./commands/review.ts')).reviewCommand,
    config: async () => (await import('./commands/config.ts')).configCommand,
  },
  'Sellers:': {
    publish: async () => (await import('./commands/publish.ts')).publishCommand,
    update: async () => (await import('./commands/update.ts')).updateCommand,
    delete: async () => (await import('./commands/update.ts')).deleteCommand,
    close: async () => (await import('./commands/close.ts')).closeCommand,
    validate: async () => (await import('./commands/validate.ts')).validateCommand,
    sync: async () => (await import('./commands/sync.ts')).syncCommand,
    mine: async () => (await import('./commands/mine.ts')).mineCommand,
    wallet: async () => (await import('./commands/wallet.ts')).walletCommand,
  },
  'Operators:': {
    serve: async () => (await import('./commands/serve.ts')).serveCommand,
    check: async () => (await import('./commands/check.ts')).checkCommand,
    init: async () => (await import('./commands/init.ts')).initCommand,
    secret: async () => (await import('./commands/secret.ts')).secretCommand,
    keys: async () => (await import('./commands/keys.ts')).keysCommand,
    identity: async () => (await import('./commands/identity.ts')).identityCommand,
    block: async () => (await import('./commands/blocks.ts')).blockCommand,
    unblock: async () => (await import('./commands/blocks.ts')).unblockCommand,
    blocks: async () => (await import('./commands/blocks.ts')).blocksCommand,
    audit: async () => (await import('./commands/audit.ts')).auditCommand,
    backup: async () => (await import('./commands/backup.ts')).backupCommand,
    restore: async () => (await import('./commands/backup.ts')).restoreCommand,
    schema: async () => (await import('./commands/schema.ts')).schemaCommand,
  },
  'Everyone:': {
    mcp: async () => (await import('./commands/mcp.ts')).mcpCommand,
    sources: async () => (await import('./commands/sources.ts')).sourcesCommand,
    doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
    completion: async () => (await import('./commands/completion.ts')).completionCommand,
  },
}

const COMMANDS: Readonly<Record<string, LoadCommand>> = Object.assign({}, ...Object.values(GROUPS))

/** @param words of the command line: commands not among them have no options yet; by default all have */
export async function createProgram(
  terminal: Terminal,
  services: Services,
  words: readonly string[] = Object.keys(COMMANDS),
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
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(heading)
    for (const [name, load] of Object.entries(commands)) {
      const command = program.command(name)
      if (words.includes(name)) addDefinition(command, await load(), run)
      else if (mayListCommands(words)) command.description((await load()).summary)
    }
  }
  // In the last group.
  program.helpCommand('help [command]', 'display help for command')
  return program
}

/** Whether the help with the summaries of all commands may be printed. */
function mayListCommands(words: readonly string[]): boolean {
  const first = words.findIndex((word) => Object.hasOwn(COMMANDS, word))
  return first < 0
    ? !words.some((word) => word === '-V' || word === '--version')
    : words.slice(0, first).some((word) => ['-h', '--help', 'help'].includes(word))
}

type RunCommand = (definition: CommandDefinition, command: Command) => Promise<void>

function addDefinition(
  command: Command,
  definition: CommandDefinition | CommandGroup,
  run: RunCommand,
): void {
  command.description(definition.summary)
  command.showHelpAfterError(`See '${pathOf(command)} --help'.`)
  if ('subcommands' in definition) {
    for (const [name, subcommand] of Object.entries(definition.subcommands))
      addDefinition(command.command(name), subcommand, run)
    return
  }
  definition.define?.(command)
  command
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
      openClient: async (options) => {
        const client = await services.openRegistryClient(options)
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
