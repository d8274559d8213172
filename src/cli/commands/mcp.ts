import { addReading, type CommandDefinition } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { printReport, printStatus } from '../output/terminal.ts'
import { openAgentMarket } from '../registries/buyer-market.ts'
import { type RegistryOptions, selectRegistries } from '../registries/select-registries.ts'

export const mcpCommand: CommandDefinition<RegistryOptions> = {
  summary: 'serve the selected Registries to an agent, over MCP on stdin and stdout',
  define: (command) => addReading(command),
  example: 'entrepot mcp -r https://registry.example',
  async run({ terminal, openClient, services }, options) {
    const selected = selectRegistries(terminal, options)
    printReport(
      terminal,
      `[mcp] serving ${selected.registries.map(({ url }) => url).join(', ')} on stdin and stdout`,
    )
    const market = openAgentMarket(await openClient({ hasBreakers: true }), selected)
    const onError = (cause: unknown): void => printStatus(terminal, `entrepot: ${String(cause)}`)
    await services.serveAgents(market, terminal, onError)
    return EXIT.ok
  },
}
