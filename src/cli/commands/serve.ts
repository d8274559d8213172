import type { CommandDefinition } from '../command.ts'

export const serveCommand: CommandDefinition = {
  example: 'PORT=8080 ENTREPOT_CONFIG=gateway.toml entrepot serve',
  run: ({ services }) => services.serve(),
}
