import type { CommandDefinition } from '../command.ts'
import { usageError } from '../exit-codes.ts'

export const serveCommand: CommandDefinition<{ config?: string }> = {
  summary: 'run a Registry and gateway, configured by environment variables and the gateway file',
  example: 'PORT=8080 ENTREPOT_CONFIG=gateway.toml entrepot serve',
  run: async ({ services }, { config }) => {
    if (config !== undefined)
      throw usageError(
        `--config names the buyer's file; for the gateway file write: ENTREPOT_CONFIG=${config} entrepot serve`,
      )
    return services.serve()
  },
}
