import type { CommandDefinition } from '../command.ts'
import { usageError } from '../exit-codes.ts'

export const serveCommand: CommandDefinition<{ config?: string }> = {
  summary: 'run the gateway, as `npm start` does',
  example: 'PORT=8080 ENTREPOT_CONFIG=gateway.toml entrepot serve',
  run: async ({ services }, { config }) => {
    if (config !== undefined)
      throw usageError(
        `--config names the buyer's file; for the gateway file write: ENTREPOT_CONFIG=${config} entrepot serve`,
      )
    return services.serve()
  },
}
